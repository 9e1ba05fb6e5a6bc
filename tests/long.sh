#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Proofs that take too long to run for each change; docs/long-runs.md records them.
#   tests/long.sh                     lists them, with the progress of each
#   tests/long.sh NAME [MINUTES]      runs NAME for at most MINUTES (90); continues an earlier run
# docs/long-runs.md keeps the progress: each piece that passes updates its line. Earlier pieces count until
# the sources that the proof tests change. Fails if the proof fails.
set -euo pipefail
shopt -s inherit_errexit  # a piece that fails does not count

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. cmake/compiler_cache.sh
. cmake/progress.sh

# Each proof has the unit that it counts, the number that is needed, and a function run_NAME. The
# function runs one piece, which takes well under 90 minutes, and prints its count. It gets the seconds that
# are left.
declare -A unit=(
  [suite]='runs of all tests beside four busy loops'
  [threads]='more runs of the tests that have threads or wait, beside four busy loops'
  [fuzz-readers]='seconds of fuzzing'
  [picture-sizes]='pictures of random sizes on each engine'
  [elf-mutants]='mutated libraries'
  [kills]='kills of vcap run at random moments'
  [plain-build]='builds without presets'
  [schedules]='scenarios of batching under every schedule with two preemptions'
  [cluster-streams]='disturbances of the streams of a cluster'
  [cluster-upgrade]='replacements of the workers of an earlier version during a job and a stream'
  [cluster-chaos]='disturbances of a cluster of processes'
)
declare -A needed=(
  [suite]=20
  [threads]=80  # and each run of suite is one of them, too
  [fuzz-readers]=3600
  [picture-sizes]=100000
  [elf-mutants]=50000
  [kills]=200
  [plain-build]=1
  [schedules]=2
  [cluster-streams]=500
  [cluster-upgrade]=20
  [cluster-chaos]=500
)

# The sources that each proof tests: if they change, the proof begins again.
declare -A proven=(
  [suite]='src include tests examples'
  [threads]='src include tests'
  [fuzz-readers]=':(glob)src/backends/* include/vcap/backends tests/fuzz/readers_fuzz.cpp'  # no engines
  [picture-sizes]='src/backends include/vcap/backends tests/backends'
  [elf-mutants]='src/loading/plugin tests/loading/plugin tests/loading/plugins tests/support/elf_writer.hpp
    tests/support/unfit_tables.hpp tests/support/dying_child.hpp'
  [kills]='src/files src/media src/records src/cli tests/cli'
  [plain-build]='src include examples cmake CMakeLists.txt'
  [schedules]='src/batching include/vcap/batching tests/batching/model'
  [cluster-streams]='src/cluster src/nats src/records/message_pump.cpp src/records/message_spool.cpp
    :(glob)tests/cluster/*'
  [cluster-upgrade]='src/cluster src/nats tests/cluster/jobs'
  [cluster-chaos]='src/cluster src/nats src/jobs src/records src/cli/worker.cpp tests/cluster/chaos'
)

# Runs a number of programs at a time beside four loops, so that threads of a test wait for processors at
# unusual places. Many, because two would get only a third of two processors. For the same reason a piece is
# several runs of each test: at the end of a piece fewer programs run.
beside_busy_loops() (  # NUMBER COMMAND …
  export VCAP_TEST_JOBS=$1
  shift
  trap 'kill $(jobs -p)' EXIT
  for _ in 1 2 3 4; do
    while :; do :; done &
  done
  "$@" >&2
)

run_suite() {
  tests/run.sh -N >&2  # builds, and runs nothing
  beside_busy_loops 8 tests/run.sh --repeat until-fail:4
  echo 4
}

run_threads() {
  tests/run.sh threads --gtest_list_tests >&2
  VCAP_TEST_ROUNDS=8 beside_busy_loops 12 tests/run.sh threads --gtest_shuffle
  echo 8
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
    VCAP_TEST_SECONDS=0 VCAP_PICTURES=${needed[picture-sizes]} \
      with_ticks "running" ./vcap_backends_tests --gtest_brief=1 \
      '--gtest_filter=*KeepsItsMemoryWithPicturesOfManySizes*') >&2
  echo "${needed[picture-sizes]}"
}

# Continues with the mutants that no earlier piece has tried.
run_elf-mutants() {
  local left=$((${needed[elf-mutants]} - $done))
  local piece=$((left < 5000 ? left : 5000))
  tests/run.sh -N >&2  # builds, and runs nothing
  (cd "build/$preset/tests/loading" &&
    VCAP_ELF_MUTANTS=$done:$piece with_ticks "loading mutants" ./vcap_loading_tests --gtest_brief=1 \
      '--gtest_filter=ElfMutants.*') >&2
  echo "$piece"
}

run_kills() {
  local piece=50
  tests/run.sh -N >&2  # builds, and runs nothing
  (cd "build/$preset/tests/cli" &&
    VCAP_TEST_KILLS=$piece with_ticks "running" ./vcap_cli_tests --gtest_brief=1 \
      '--gtest_filter=*HasAPrefixOfTheUndisturbedRun*') >&2
  echo "$piece"
}

run_cluster-streams() {
  local piece=100
  tests/run.sh -N >&2  # builds, and runs nothing
  (cd "build/$preset/tests/cluster" &&
    VCAP_TEST_CLUSTER_ROUNDS=$piece with_ticks "running" ./vcap_cluster_tests --gtest_brief=1 \
      '--gtest_filter=StreamRounds.*') >&2
  echo "$piece"
}

# The commit that stands for the version before. Newer ones must work beside it.
upgrade_from=${VCAP_UPGRADE_FROM:-be54a47}
run_cluster-upgrade() {
  local piece=20 source=build/upgrade/source
  tests/run.sh -N >&2  # builds, and runs nothing
  git worktree prune
  [ -d "$source" ] || git worktree add --force --detach "$source" "$upgrade_from" >&2
  git -C "$source" checkout --quiet --detach "$upgrade_from"
  cmake -S "$source" -B build/upgrade/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=48 >&2
  build_with_progress "building $upgrade_from" build/upgrade/build --target vcap_cli >&2
  (cd "build/$preset/tests/cluster/jobs" &&
    VCAP_TEST_OLD_COMMAND=$root/build/upgrade/build/src/cli/vcap with_ticks "running" \
      ./vcap_cluster_jobs_tests --gtest_brief=1 --gtest_repeat="$piece" \
      '--gtest_filter=*ReplacedByThoseOfAnotherVersion:*IsGivenAwayInASecond*') >&2
  echo "$piece"
}

# Each piece begins with a new cluster.
run_cluster-chaos() {
  local piece=100
  tests/run.sh -N >&2  # builds, and runs nothing
  (cd "build/$preset/tests/cluster/chaos" &&
    VCAP_TEST_SECONDS=0 VCAP_TEST_CHAOS_ROUNDS=$piece with_ticks "running" ./vcap_cluster_chaos_tests --gtest_brief=1) >&2
  echo "$piece"
}

# As a packager builds: all presets gather sources into larger units, where a missing include may not show.
run_plain-build() {
  cmake -S . -B build/plain -G Ninja -DCMAKE_BUILD_TYPE=Release >&2
  build_with_progress "building" build/plain >&2
  echo 1
}

# The two with the most schedules; tests/run.sh runs them with one preemption, and all others with two or three.
run_schedules() {
  tests/run.sh -N >&2  # builds, and runs nothing
  (cd "build/$preset/tests/batching/model" &&
    VCAP_MODEL_PREEMPTIONS=2 with_ticks "searching" ./vcap_batching_model_tests --gtest_brief=1 \
      '--gtest_filter=*TheDestructorWaitsForCallersThatPredict:*CallersOfSeveralKeysPredict*') >&2
  echo "${needed[schedules]}"
}

preset=${VCAP_PRESET:-release}
page=docs/long-runs.md
# The last commit that changed the sources, with a mark if they have uncommitted changes.
state_of() {
  local paths commit
  read -ra paths <<<"${proven[$1]//$'\n'/ }"
  commit=$(git log -1 --format=%h -- "${paths[@]}")
  git diff --quiet HEAD -- "${paths[@]}" || commit+=+$(git diff HEAD -- "${paths[@]}" | sha256sum | cut -c1-8)
  echo "$commit"
}
# The count of NAME at the present state of its sources, from the page's line | name | date | commit | count of … |
done_of() {
  awk -F' *[|] *' -v name="$1" -v state="$(state_of "$1")" \
    '$2 == name && $4 == state { split($5, words, " "); done = words[1] } END { print done + 0 }' "$page"
}
# Replaces the line of NAME on the page, or adds it behind the last line of that table.
record() {  # NAME COUNT
  local line
  line="| $1 | $(date +%F) | $(state_of "$1") | $2 of ${needed[$1]} ${unit[$1]} |"
  awk -v name="$1" -v line="$line" '
    /^[|] proof [|] date/ { table = 1 }
    table && /^$/ { if (!written) print line; table = 0 }
    table && index($0, "| " name " |") == 1 { if (!written) print line; written = 1; next }
    { print }' "$page" >"$page.new"
  mv "$page.new" "$page"
  echo "$line"
}

if [ $# -eq 0 ]; then
  for name in "${!unit[@]}"; do
    printf '%-16s %s of %s %s\n' "$name" "$(done_of "$name")" "${needed[$name]}" "${unit[$name]}"
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
while done=$(done_of "$name"); left=$((end - SECONDS)); [ "$done" -lt "${needed[$name]}" ] && [ "$left" -gt 0 ]; do
  count=$("run_$name" "$left")
  record "$name" $((done + count))
done
