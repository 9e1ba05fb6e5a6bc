#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Proofs that take too long to run for each change; docs/long-runs.md records them.
#   tests/long.sh                     lists them, with the progress of each
#   tests/long.sh NAME [MINUTES]      runs NAME for at most MINUTES (90); continues an earlier run
# Earlier runs count until the sources that the proof tests change.
# Prints the line for docs/long-runs.md. Fails if the proof fails.
set -euo pipefail
shopt -s inherit_errexit  # a piece that fails does not count

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Each proof has the unit that it counts, the number that is needed, and a function run_NAME. The
# function runs one piece, as small as possible, within the given seconds, and prints its count.
declare -A unit=(
  [suite]='runs of all tests beside four busy loops'
  [threads]='runs of the tests of layers with threads beside four busy loops'
  [fuzz-readers]='seconds of fuzzing'
  [picture-sizes]='pictures of random sizes on each engine'
)
declare -A needed=(
  [suite]=20
  [threads]=100
  [fuzz-readers]=3600
  [picture-sizes]=100000
)

# The sources that each proof tests: if they change, the proof begins again.
declare -A proven=(
  [suite]='src include tests examples'
  [threads]='src include tests'
  [fuzz-readers]=':(glob)src/backends/* include/vcap/backends tests/fuzz/readers_fuzz.cpp'  # no engines
  [picture-sizes]='src/backends include/vcap/backends tests/backends'
)

# Four more threads than there are tests at a time want the processors, so that threads of a test
# wait for them at unusual places.
beside_busy_loops() (
  trap 'kill $(jobs -p)' EXIT
  for _ in 1 2 3 4; do
    while :; do :; done &
  done
  "$@" >&2
)

run_suite() {
  tests/run.sh -N >&2  # builds, and runs nothing
  beside_busy_loops tests/run.sh
  echo 1
}

run_threads() {
  tests/run.sh threads --gtest_list_tests >&2
  beside_busy_loops tests/run.sh threads --gtest_shuffle
  echo 1
}

run_fuzz-readers() {
  local piece=$(($1 < 600 ? $1 : 600))
  tests/fuzz/run.sh "$piece" readers >&2
  echo "$piece"
}

# All pictures in one process, because the test compares its memory at the end with the beginning.
run_picture-sizes() {
  tests/run.sh -N >&2  # builds, and runs nothing
  (cd "build/$preset/tests/backends" &&
    VCAP_TEST_SECONDS=0 VCAP_PICTURES=${needed[picture-sizes]} ./vcap_backends_tests --gtest_brief=1 \
      '--gtest_filter=*KeepsItsMemoryWithPicturesOfManySizes*') >&2
  echo "${needed[picture-sizes]}"
}

preset=${VCAP_PRESET:-release}
folder=build/long
mkdir -p "$folder"
# The last commit that changed the sources, with a mark if they have uncommitted changes.
state_of() {
  local paths commit
  read -ra paths <<<"${proven[$1]}"
  commit=$(git log -1 --format=%h -- "${paths[@]}")
  git diff --quiet HEAD -- "${paths[@]}" || commit+=+$(git diff HEAD -- "${paths[@]}" | sha256sum | cut -c1-8)
  echo "$commit"
}
done_of() { local file; file=$folder/$1.$(state_of "$1"); [ ! -e "$file" ] || awk '{ sum += $1 } END { print sum + 0 }' "$file"; }

if [ $# -eq 0 ]; then
  for name in "${!unit[@]}"; do
    done=$(done_of "$name")
    printf '%-16s %s of %s %s\n' "$name" "${done:-0}" "${needed[$name]}" "${unit[$name]}"
  done | sort
  exit 0
fi
name=$1
case "$name" in -h | --help) sed -n '4,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; esac
if [ -z "${unit[$name]:-}" ]; then
  echo "no proof $name; there are: ${!unit[*]}" >&2
  exit 2
fi
end=$((SECONDS + ${2:-90} * 60))
while :; do
  done=$(done_of "$name")
  left=$((end - SECONDS))
  [ "${done:-0}" -lt "${needed[$name]}" ] && [ "$left" -gt 0 ] || break
  count=$("run_$name" "$left")
  echo "$count" >>"$folder/$name.$(state_of "$name")"
done
echo "| $name | $(date +%F) | $(state_of "$name") | ${done:-0} of ${needed[$name]} ${unit[$name]} |"
