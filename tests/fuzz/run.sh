#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the fuzzing programs and runs each of them, as many at a time as there are processors.
#   tests/fuzz/run.sh SECONDS [TARGET …]   each for SECONDS, such as: tests/fuzz/run.sh 60 archive
#   tests/fuzz/run.sh --runs N [TARGET …]  each for N executions
# Seeds are the corpus of tests/hostile. New inputs are kept in build/fuzz-corpus, and inputs that break
# a program in build/fuzz-findings. Prints the number of executions. Fails if a program found a fault.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
. cmake/progress.sh
case "${1:-}" in
  --runs) bound=-runs=${2:?how many?}; shift 2 ;;
  '' | *[!0-9]*) sed -n '4,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  *) bound=-max_total_time=$1; shift ;;
esac
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in tests/fuzz/*_fuzz.cpp; do targets+=("$(basename "$source" _fuzz.cpp)"); done
fi

cmake/install_dependencies.sh tests sanitizers
. cmake/compiler_cache.sh
preset=${VCAP_PRESET:-release}
footage=$(cmake/footage.sh)
configure_with_ticks "configuring" --preset "$preset" -DVCAP_FOOTAGE="$footage"
configure_with_ticks "configuring" --preset fuzz
build_with_progress "building the seeds" "build/$preset" --target vcap_hostile_corpus
build_with_progress "building the fuzzing programs" build/fuzz --target "${targets[@]/%/_fuzz}"
rm -rf build/fuzz-seeds
with_ticks "writing the seeds" "build/$preset/tests/hostile/vcap_hostile_corpus" build/fuzz-seeds

fuzz() {
  local name=$1 log=build/fuzz-$1.log longest=4096
  [ "$name" != library ] || longest=12288
  [ "$name" != archive ] || longest=24576
  mkdir -p "build/fuzz-corpus/$name" "build/fuzz-findings" "build/fuzz-seeds/$name"
  local status=0
  "build/fuzz/tests/fuzz/${name}_fuzz" "$bound" "-max_len=$longest" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 "-artifact_prefix=build/fuzz-findings/$name-" \
    "build/fuzz-corpus/$name" "build/fuzz-seeds/$name" >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    tail -60 "$log"
    echo "$name: found a fault; see build/fuzz-findings" >&2
    return 1
  fi
  echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions, no finding"
}
export -f fuzz
export bound
# Why without intercept_tls_get_addr: tests/run.sh.
export ASAN_OPTIONS=intercept_tls_get_addr=0:detect_leaks=1:allocator_may_return_null=1
fuzz_all() { printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -euo pipefail -c 'fuzz "$1"' fuzz; }
with_ticks "fuzzing" fuzz_all
