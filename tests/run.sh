#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs missing packages, fetches the weights of networks, builds, and runs every test with CTest.
#   tests/run.sh             all tests, with CTest; further arguments go to it, such as -R batching
#   tests/run.sh asan|tsan   the unit tests under address+undefined or thread sanitizers; further
#                            arguments go to each program, such as --gtest_filter=Batch*
#   tests/run.sh threads     only the unit tests of the layers that have threads, of the command, and of
#                            refused threads and memory; arguments as above
#   tests/run.sh --without-networks   all tests but those that need OpenVINO or the weights of
#                            networks, which are not fetched; further arguments go to CTest
# VCAP_PRESET names another CMake preset than release. VCAP_TEST_JOBS says how many programs run at a time (one
# more than there are processors, since some wait). VCAP_TEST_ROUNDS says how often `threads` runs each test (once).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
preset=${VCAP_PRESET:-release}
jobs=${VCAP_TEST_JOBS:-$(($(nproc) + 1))}
targets=(all)
layers=
without_networks=OFF
if [ "${1:-}" = --without-networks ]; then
  without_networks=ON
  shift
fi
case "${1:-}" in
  asan) layers='loading streams isolation sources backends jobs cluster batching pipeline capsule records messages media view workers observe files plan image model algorithms base' ;;  # the layers that take longest first
  threads) layers='streams loading isolation cli sources backends faults jobs cluster batching pipeline records messages media workers observe capsule base' ;;
  # Without messages: clang 14's thread sanitizer does not know the threads of librdkafka (thrd_create), and crashes in them.
  tsan) layers='streams loading isolation sources backends jobs cluster batching pipeline records view media workers observe capsule base' ;;  # the layers that have threads
esac
if [ -n "$layers" ]; then
  [ "$1" = threads ] || preset=$1
  shift
  targets=()
  for layer in $layers; do targets+=("vcap_${layer}_tests"); done
fi

. cmake/progress.sh
echo "[1/3] packages and weights"
case $preset in
  asan | tsan) cmake/install_dependencies.sh tests sanitizers ;;
  ci) cmake/install_dependencies.sh tests bench ;;  # it builds the benchmarks, too
  *) cmake/install_dependencies.sh tests ;;
esac
footage=$(cmake/footage.sh)
export VCAP_CACHE=$root/build/cache  # compiled models; nothing is written into the user's home
if [ $without_networks = OFF ] && ! cmake/fetch_wheels.sh; then
  echo "some tests need files that could not be fetched; to run the others:" \
    "tests/run.sh --without-networks $*" >&2
  exit 1
fi

. cmake/compiler_cache.sh
echo "[2/3] building"
configure_with_ticks "[2/3] configuring" --preset "$preset" -DVCAP_BUILD_TESTS=ON -DVCAP_FOOTAGE="$footage" \
  -DVCAP_WITHOUT_NETWORKS=$without_networks
build_with_progress "[2/3] building" "build/$preset" --target "${targets[@]}"
echo "[3/3] running"

if [ -z "$layers" ]; then
  status=0
  with_ticks "[3/3] running" ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "$@" || status=$?
  # A program prints how many tests it ran; any other CTest entry is one test.
  awk '/^Command: /           { count += pending; pending = 1 }
       /^\[=+\] [0-9]+ tests? / && / ran\./ { count += $2; pending = 0 }
       END                    { print count + pending, "tests ran" }' \
    "build/$preset/Testing/Temporary/LastTest.log"
  # What failed, once more at the end: the output of a program is long.
  [ "$status" -eq 0 ] ||
    grep -E -A 8 '(: |file: )Failure$|^\[  FAILED  \] .* ms\)$' "build/$preset/Testing/Temporary/LastTest.log" | tail -n 200 || true
  exit "$status"
fi

# Runs programs in parts. Under the sanitizer, a process for each
# test would spend most of its time on its start.
suppressions=$root/tests/support
# Damaged models request more memory than there is. This must be an error and not a crash. Tests link some
# objects of vcap's libraries besides the libraries, so a global may exist twice, but with one size. Clang 14
# takes some thread-local memory of loaded libraries for that of glibc 2.19; the search for leaks then reads
# other addresses and now and then crashes at the end of a process (LLVM 17 no longer does this). Without
# intercept_tls_get_addr it doesn't look for that memory.
export ASAN_OPTIONS=intercept_tls_get_addr=0:detect_odr_violation=1:detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:allocator_may_return_null=1
export LSAN_OPTIONS=suppressions=$suppressions/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=suppressions=$suppressions/tsan.supp:halt_on_error=1:second_deadlock_stack=1
export preset GTEST_TOTAL_SHARDS=4
run_part() {  # LAYER NUMBER [ARGUMENT …]
  local layer=$1 log status=0
  export GTEST_SHARD_INDEX=$2
  shift 2
  log=$(mktemp)
  (cd "build/$preset/tests/$layer" && "./vcap_${layer}_tests" --gtest_brief=1 "$@") >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    cat "$log" >&2
    echo "-- $layer failed under $preset" >&2
  else
    sed -n "s/^\[=*\] \(.*\) ran\..*/-- $layer under $preset, part $((GTEST_SHARD_INDEX + 1)): \1/p" "$log"
  fi
  rm -f "$log"
  return "$status"
}
export -f run_part
run_parts() {
  local round
  for ((round = 0; round < ${VCAP_TEST_ROUNDS:-1}; ++round)); do
    for layer in $layers; do printf '%s\0' "$layer "{0..3}; done
  done |
    xargs -0 -n 1 -P "$jobs" bash -euo pipefail -c 'run_part ${!#} "${@:1:$#-1}"' run_part "$@"
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
with_ticks "[3/3] running" run_parts "$@" | tee "$log"  # awk would read it in blocks
awk 'match($0, /: [0-9]+ tests?/) { count += substr($0, RSTART + 2) } END { print count + 0, "tests ran" }' "$log"
