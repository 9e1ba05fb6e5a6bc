#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds, and runs every test with CTest.
#   tests/run.sh             all tests
#   tests/run.sh asan|tsan   the unit tests under address+undefined or thread sanitizers
# Further arguments go to ctest, such as -R batching. VCAP_PRESET names another CMake preset.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
preset=${VCAP_PRESET:-release}
targets=(all)
selection=()
case "${1:-}" in
  asan) layers='base model image algorithms batching capsule loading runtime cli' ;;
  tsan) layers='base batching capsule loading runtime' ;;  # those that have threads
  *) layers= ;;
esac
if [ -n "$layers" ]; then
  preset=$1
  shift
  targets=()
  for layer in $layers; do targets+=("vcap_${layer}_tests"); done
  selection=(--label-regex "^(${layers// /|})\$")
fi

cmake/install_dependencies.sh
footage=$(cmake/footage.sh)

export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1  # clones share what they compile
cmake --preset "$preset" -DVCAP_FOOTAGE="$footage" >build/configure.log || { cat build/configure.log; exit 1; }
cmake --build "build/$preset" --target "${targets[@]}" -- --quiet

supp=$root/tests/support
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export LSAN_OPTIONS=suppressions=$supp/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=suppressions=$supp/tsan.supp:halt_on_error=1:second_deadlock_stack=1
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(nproc)" \
  "${selection[@]}" "$@" --progress
