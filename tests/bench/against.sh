#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares benchmarks of an earlier commit with those of the working tree. Each round runs both, in
# turns, so that a change of the machine affects both.
#   tests/bench/against.sh COMMIT GROUP[.NUMBER] [--rounds N] [--samples N] [--json FILE]
# Prints for each figure the ratio of the working tree to the commit: the median of N rounds (5), and
# the lowest and highest. From five rounds on it says whether all of them were on one side of 1, which
# happens by chance in one of sixteen figures.
#   --samples N   takes N samples of each figure in a round, on both sides (VCAP_BENCH_SAMPLES; else
#                 as many as the figure's program sets)
#   --json FILE   also writes a list of objects: id, what, ratio, lowest, highest, verdict, old, new. The
#                 three numbers are null if a figure is only on one side, or a value is 0. `old` and
#                 `new` are the medians of each round.
# Both sides are built in build/against by the preset release, with the same compiler, compiler flags
# and number of sources per unit (8: names of an earlier commit may clash in larger units). Both run in
# this folder, on the same clip. If sources of the commit must be changed to build or to measure the
# same, or figures have other names there, the change is tests/bench/patches/COMMIT.patch. Use a
# machine without other load.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rounds=5
json=
given=()
while [ $# -gt 0 ]; do
  case "$1" in
    --rounds) rounds=${2:?--rounds needs a number}; shift 2 ;;
    --samples) export VCAP_BENCH_SAMPLES=${2:?--samples needs a number}; shift 2 ;;
    --json) json=$(realpath -m "${2:?--json needs a file}"); shift 2 ;;
    -h | --help) sed -n '4,20s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "unknown option $1; see tests/bench/against.sh --help" >&2; exit 2 ;;
    *) given+=("$1"); shift ;;
  esac
done
if [ ${#given[@]} -ne 2 ]; then
  echo "a commit and a group are needed; see tests/bench/against.sh --help" >&2
  exit 2
fi
for number in "--rounds $rounds" "--samples ${VCAP_BENCH_SAMPLES:-1}"; do
  [[ "$number" =~ \ [1-9][0-9]*$ ]] || { echo "$number is not a number above 0" >&2; exit 2; }
done
cd "$root"
. cmake/progress.sh
name=${given[1]}
group=${name%%.*}
if [ ! -e "tests/bench/${group}_bench.cpp" ]; then
  echo "no group of benchmarks $group" >&2
  exit 2
fi
commit=$(git rev-parse --verify --quiet --short=12 "${given[0]}^{commit}") ||
  { echo "there is no commit ${given[0]}" >&2; exit 2; }

cmake/install_dependencies.sh tests bench
footage=$(cmake/footage.sh)
. cmake/compiler_cache.sh

# Checked out again each time: keeps the files of an earlier build, but not those of an earlier patch.
old=$root/build/against/$commit
if [ -e "$old/.git" ]; then
  git -C "$old" checkout --quiet --force "$commit"
  git -C "$old" clean --quiet --force -d
else
  git worktree prune
  git worktree add --quiet --force --detach "$old" "$commit"
fi
for patch in tests/bench/patches/*.patch; do
  [ -e "$patch" ] || continue
  named=$(basename "$patch" .patch)
  [ "$(git rev-parse --short=12 "$named")" = "$commit" ] || continue
  echo "[$commit] with $patch"
  git -C "$old" apply "$root/$patch"
done
(cd "$old" && cmake/install_dependencies.sh tests bench)  # it may need other packages
mkdir -p "$old/build" build
for shared in wheels cache; do
  [ ! -d "build/$shared" ] || [ -e "$old/build/$shared" ] || ln -s "$root/build/$shared" "$old/build/$shared"
done

build() {  # SOURCES BUILD_FOLDER
  local label
  label="[$(git -C "$1" describe --always --dirty)]"
  (cd "$1" && configure_with_ticks "$label configuring" --preset release -B "$2" -DVCAP_BUILD_BENCH=ON \
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 -DVCAP_FOOTAGE="$footage")
  build_with_progress "$label building ${group}_bench" "$2" --target "${group}_bench"
}
build "$old" "$old/build/release"
build "$root" "$root/build/against/tree"

lines=$(mktemp -d)
trap 'rm -rf "$lines"' EXIT
filter=.
[ "$name" = "$group" ] || filter="^$group\\.${name#*.} "
export VCAP_FOOTAGE=$footage
declare -A folder=([old]=$old/build/release [new]=$root/build/against/tree)
run() {  # SIDE
  VCAP_BENCH_JSON=$lines/$1 \
    "${folder[$1]}/tests/bench/${group}_bench" --benchmark_filter="$filter" >/dev/null
}
for ((round = 1; round <= rounds; ++round)); do
  echo "[round $round of $rounds]"
  order=(old new)
  ((round % 2)) || order=(new old)
  for side in "${order[@]}"; do with_ticks "[round $round of $rounds] $side" run "$side"; done
done

python3 - "$lines/old" "$lines/new" "$commit" "$json" <<'PYTHON'
import json
import statistics
import sys


def read(path):
    """The medians of each figure, round by round."""
    figures, better = {}, {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            key = (one["id"], one["what"])
            figures.setdefault(key, []).append(one["median"])
            better[key] = one.get("better", "lower")
    return figures, better


old, _ = read(sys.argv[1])
new, better = read(sys.argv[2])
rows = []


def add(key, verdict, ratios=()):
    """A row of the list, without numbers if there are no ratios."""
    ratio, lowest, highest = (statistics.median(ratios), ratios[0], ratios[-1]) if ratios else (None, None, None)
    rows.append({"id": key[0], "what": key[1], "ratio": ratio, "lowest": lowest, "highest": highest, "verdict": verdict,
                 "old": old.get(key, []), "new": new.get(key, [])})


print(f"{'id':14} {'what':72} {'of ' + sys.argv[3]:>20} {'lowest … highest':>18}  {'better':7} change")
for key, values in new.items():
    if key not in old:
        print(f"{key[0]:14} {key[1]:72} {'new':>20}")
        add(key, "new")
        continue
    pairs = [(before, now) for before, now in zip(old[key], values)]
    if any(before <= 0 or now <= 0 for before, now in pairs):  # no ratio
        was, now = statistics.median(old[key]), statistics.median(values)
        print(f"{key[0]:14} {key[1]:72} {f'{was:.3g} → {now:.3g}':>20}")
        add(key, f"{was:.3g} → {now:.3g}")
        continue
    ratios = sorted(now / before for before, now in pairs)
    change = "within the spread"
    if len(ratios) < 5:
        change = "too few rounds"
    elif ratios[0] > 1 or ratios[-1] < 1:
        change = "better" if (ratios[-1] < 1) == (better[key] == "lower") else "WORSE"
    spread = f"{ratios[0]:.3f} … {ratios[-1]:.3f}"
    print(f"{key[0]:14} {key[1]:72} {statistics.median(ratios):20.3f} {spread:>18}  {better[key]:7} {change}")
    add(key, change, ratios)
for key in old:
    if key not in new:
        print(f"{key[0]:14} {key[1]:72} {'gone':>20}")
        add(key, "gone")
if sys.argv[4]:
    with open(sys.argv[4], "w", encoding="utf-8") as file:
        json.dump(rows, file, ensure_ascii=False, indent=1)
        file.write("\n")
    print(sys.argv[4])
PYTHON
