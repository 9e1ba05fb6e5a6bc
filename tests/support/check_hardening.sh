#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Shows that the built libraries, the command and an example capsule have the protections of
# cmake/VcapHardening.cmake; fails if one is missing.
#   tests/support/check_hardening.sh [BUILD_FOLDER]     (build/ci, or that of VCAP_PRESET)
# It looks for the same as Debian's hardening-check, with binutils alone: the package of that program
# would bring 46 others.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/${VCAP_PRESET:-ci}}
[ -f "$build/build.ninja" ] || { echo "there is no build in $build; run tests/run.sh first" >&2; exit 2; }

missing=0
lacks() {  # FILE WHAT
  echo "$1 lacks $2" >&2
  missing=$((missing + 1))
}
commands_of() { ninja -C "$build" -t commands "$1" | grep -E " -c .*\.(cpp|cxx)$" || true; }

# check FILE program|library BELOW: BELOW is the folder of its objects in the build folder.
check() {
  local file=$build/$1 kind=$2 below=$3 before=$missing dynamic segments symbols commands flag
  [ -f "$file" ] || { lacks "$file" "itself: it is not built"; return 0; }
  dynamic=$(readelf -dW "$file")
  segments=$(readelf -lW "$file")
  symbols=$(nm -D --undefined-only "$file" | awk '{print $NF}')

  grep -q GNU_RELRO <<<"$segments" || lacks "$file" "read-only relocations (-z relro)"
  grep -qE 'BIND_NOW|Flags:.* NOW' <<<"$dynamic" || lacks "$file" "binding at the start (-z now)"
  if grep -E 'GNU_STACK' <<<"$segments" | grep -q 'RWE'; then lacks "$file" "a stack that cannot be executed"; fi
  if [ "$kind" = program ]; then
    grep -q 'Flags:.* PIE' <<<"$dynamic" || lacks "$file" "a position that is chosen at the start (-pie)"
  fi
  grep -q '^__stack_chk_fail' <<<"$symbols" || lacks "$file" "the stack protector"
  # These always have a checked form. Others keep their name if the compiler knows that the sizes fit, or if
  # the standard library calls them, as memcpy: for them, the commands below count.
  if grep -qE '^v?sn?printf(@|$)' <<<"$symbols" &&
    ! grep -qE '^__v?sn?printf_chk(@|$)' <<<"$symbols"; then
    lacks "$file" "checked copies (_FORTIFY_SOURCE)"
  fi
  if [ "$(uname -m)" = x86_64 ] && [ "$(objdump -d "$file" | grep -c endbr64)" -lt 2 ]; then
    lacks "$file" "marked targets of indirect jumps (-fcf-protection)"
  fi
  # Stack clash protection shows only in functions with large frames, so the commands are looked at.
  commands=$(commands_of "$1" | grep -F "$below" || true)
  [ -n "$commands" ] || lacks "$file" "commands that compile it in $below"
  for flag in -fstack-protector-strong -fstack-clash-protection -D_FORTIFY_SOURCE=; do
    if grep -vqF -e "$flag" <<<"$commands"; then lacks "$file" "$flag in each of its commands"; fi
  done
  if [ "$missing" -eq "$before" ]; then echo "$file: protected"; fi
}

check src/libvcap_core.so library src/CMakeFiles/vcap_core.dir/
check src/libvcap.so library src/CMakeFiles/vcap.dir/
check src/libvcap_view.so library src/CMakeFiles/vcap_view.dir/
check src/libvcap_cluster.so library src/CMakeFiles/vcap_cluster.dir/
check src/libvcap_nats.so library src/CMakeFiles/vcap_nats.dir/
check src/libvcap_backends.so library src/backends/CMakeFiles/vcap_backends.dir/
check src/libvcap_download.so library src/CMakeFiles/vcap_download.dir/
check src/libvcap_opencv_io.so library src/CMakeFiles/vcap_opencv_io.dir/
check src/libvcap_messages.so library src/CMakeFiles/vcap_messages.dir/
check src/cli/vcap program src/cli/CMakeFiles/vcap_cli.dir/
check examples/capsules/quickstart/quickstart/capsule.so library examples/capsules/quickstart/CMakeFiles/quickstart.dir/
[ "$missing" -eq 0 ]
