#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares the ABI of libvcap_core and libvcap with the baselines in docs/abi/; docs/abi.md says what
# they include, and what to do.
#   tests/support/check_abi.sh            fails with abidiff's report if they differ
#   tests/support/check_abi.sh --update   makes new baselines
# Builds both libraries by the preset ci, unless they are built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case "${1:-}" in
  '' | --update) ;;
  *) echo "usage: tests/support/check_abi.sh [--update]" >&2; exit 2 ;;
esac
. cmake/progress.sh
cmake/install_dependencies.sh tests bench abi
. cmake/compiler_cache.sh
if [ ! -f build/ci/build.ninja ]; then
  footage=$(cmake/footage.sh)
  configure_with_ticks "configuring" --preset ci -DVCAP_FOOTAGE="$footage"
fi
build_with_progress "building the libraries" build/ci --target vcap

now=$(mktemp -d)
trap 'rm -rf "$now"' EXIT
read_abi() {  # LIBRARY
  abidw --suppressions docs/abi/abidw.ini --headers-dir include --drop-private-types --exported-interfaces-only \
    --no-elf-needed --no-parameter-names --no-corpus-path --no-comp-dir-path --type-id-style hash "build/ci/src/$1.so" |
    tests/support/public_abi.py >"$now/$1.xml"
}
libraries=(libvcap_core libvcap)
declare -A passed_by_value=([libvcap_core]=CapsuleInfo [libvcap]=FrameRecord)
for library in "${libraries[@]}"; do with_ticks "reading $library" read_abi "$library"; done

if [ "${1:-}" = --update ]; then
  for library in "${libraries[@]}"; do xz -9 -c "$now/$library.xml" >"docs/abi/$library.xml.xz"; done
  echo "docs/abi/ has new baselines; if users notice a change, add a line to docs/changelog.md"
  exit 0
fi

differs() { ! abidiff --harmless "$1" "$2"; }  # also if abidiff itself fails
for library in "${libraries[@]}"; do
  # Tests the check itself: abidiff must report a change that a capsule would notice.
  class=${passed_by_value[$library]}
  sed "/<class-decl name=\"$class\"/,/<\/class-decl>/s/ layout-offset-in-bits=\"256\"/ layout-offset-in-bits=\"288\"/" \
    "$now/$library.xml" >"$now/moved"
  if ! differs "$now/$library.xml" "$now/moved" >/dev/null; then
    echo "abidiff does not notice that a member of $class has moved: this check is broken" >&2
    exit 1
  fi
  xz -dc "docs/abi/$library.xml.xz" >"$now/baseline"
  if differs "$now/baseline" "$now/$library.xml" >&2; then
    cat >&2 <<END
The ABI of $library differs from docs/abi/$library.xml.xz; the report is above, and docs/abi.md says what may change when.
If you did not intend it, undo it. If you did:
  tests/support/check_abi.sh --update, a line in docs/changelog.md, and, once that version is released,
  the next minor version in include/vcap/base/version.hpp, from which the SONAME and the ABI tag come
END
    exit 1
  fi
  echo "$library: $(grep -c '<elf-symbol' "$now/$library.xml") public symbols and their types are those of docs/abi/"
done
