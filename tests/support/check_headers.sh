#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fails if a public header does not compile by itself.
#   tests/support/check_headers.sh COMPILER FOLDER_OF_OPENCVS_HEADERS
# OpenCV's headers and the standard library's large ones are compiled once for all, which takes a quarter of the time. So a
# header that forgets to include one of them is not found here. The target all_verify_interface_header_sets finds
# it, in some four minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export COMPILER=${1:?which compiler?} OPENCV=${2:?where are the headers of OpenCV?}
FOLDER=$(mktemp -d)
export FOLDER
trap 'rm -rf "$FOLDER"' EXIT
compile() { "$COMPILER" -std=gnu++20 -Wall -Wextra -Werror -Iinclude -isystem "$OPENCV" "$@"; }
export -f compile

for header in opencv2/core.hpp chrono functional future map memory optional span string variant vector; do
  echo "#include <$header>"
done >"$FOLDER/known.hpp"
compile -x c++-header "$FOLDER/known.hpp" -o "$FOLDER/known.hpp.gch"
check() {
  echo "#include <${1#include/}>" >"$FOLDER/$$.cpp"
  compile -include "$FOLDER/known.hpp" -Winvalid-pch -fsyntax-only "$FOLDER/$$.cpp" && return
  echo "$1 does not compile by itself" >&2
  return 1
}
export -f check

# A header that must fail.
printf 'inline vcap::Frame frame;\n' >"$FOLDER/wrong.hpp"
if compile -include "$FOLDER/known.hpp" -fsyntax-only -x c++ "$FOLDER/wrong.hpp" 2>/dev/null; then
  echo "a header without its includes compiles: this check is broken" >&2
  exit 1
fi
find include -name '*.hpp' -print0 | sort -z | xargs -0 -n 1 -P "$(nproc)" bash -euo pipefail -c 'check "$1"' check
echo "$(find include -name '*.hpp' | wc -l) headers compile by themselves"
