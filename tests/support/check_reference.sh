#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the API reference of the public headers, build/reference/html/index.html. Fails if Doxygen
# warns, for example about a name that does not exist, or if a type has no comment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. cmake/progress.sh
cmake/install_dependencies.sh docs

VCAP_VERSION=$(awk '/define VCAP_VERSION_(MAJOR|MINOR|PATCH) / { version = version dot $3; dot = "." } END { print version }' \
  include/vcap/base/version.hpp)
export VCAP_VERSION
rm -rf build/reference
mkdir -p build/reference
with_ticks "making the reference" doxygen docs/Doxyfile

# The name and type of a member may be enough; a type needs a comment.
log=build/reference/undocumented.log
look_for_comments() {
  {
    cat docs/Doxyfile
    echo "GENERATE_HTML=NO
      GENERATE_XML=YES
      GENERATE_TAGFILE=
      EXTRACT_ALL=NO
      WARN_IF_UNDOCUMENTED=YES
      WARN_AS_ERROR=NO"
  } | doxygen - >"$log" 2>&1
}
with_ticks "looking for comments" look_for_comments || { cat "$log" >&2; exit 1; }
undocumented=$(grep -v 'warning: Member .* is not documented' "$log") || [ $? -eq 1 ]  # 1: no line is left
if [ -n "$undocumented" ]; then
  printf '%s\n' "$undocumented" >&2
  exit 1
fi

count() { grep -c "<compound kind=\"$1\"" build/reference/vcap.tag; }
echo "build/reference/html: $(($(count class) + $(count struct))) classes of $(find include -name '*.hpp' | wc -l) headers"
