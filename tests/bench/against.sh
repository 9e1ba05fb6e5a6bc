#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares benchmarks of an earlier commit with those of the working tree, both built here with the
# same settings. Each round runs both, in turns, so that a change of the machine affects both.
#   tests/bench/against.sh COMMIT GROUP[.NUMBER] [--rounds N]
# Prints for each figure the ratio of the working tree to the commit: the median of N rounds (5), and
# the lowest and highest. From five rounds on it says whether all of them were on one side of 1, which
# happens by chance in one of sixteen figures. If sources of the commit must be changed to build or to
# measure the same, the change is tests/bench/patches/COMMIT.patch. Use a machine without other load.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rounds=5
given=()
while [ $# -gt 0 ]; do
  case "$1" in
    --rounds) rounds=${2:?--rounds needs a number}; shift 2 ;;
    -h | --help) sed -n '4,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "unknown option $1; see tests/bench/against.sh --help" >&2; exit 2 ;;
    *) given+=("$1"); shift ;;
  esac
done
if [ ${#given[@]} -ne 2 ]; then
  echo "a commit and a group are needed; see tests/bench/against.sh --help" >&2
  exit 2
fi
[[ "$rounds" =~ ^[1-9][0-9]*$ ]] || { echo "--rounds $rounds is not a number above 0" >&2; exit 2; }
cd "$root"
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
export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}

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

build() {  # FOLDER
  echo "[$(git -C "$1" describe --always --dirty)] building ${group}_bench"
  (cd "$1" && cmake --preset release -DVCAP_BUILD_BENCH=ON -DVCAP_FOOTAGE="$footage" >build/configure.log) ||
    { cat "$1/build/configure.log"; exit 1; }
  cmake --build "$1/build/release" --target "${group}_bench" -- --quiet
}
build "$old"
build "$root"

lines=$(mktemp -d)
trap 'rm -rf "$lines"' EXIT
filter=.
[ "$name" = "$group" ] || filter="^$group\\.${name#*.} "
run() {  # FOLDER SIDE
  VCAP_FOOTAGE=$footage VCAP_BENCH_JSON=$lines/$2 \
    "$1/build/release/tests/bench/${group}_bench" --benchmark_filter="$filter" >/dev/null
}
for ((round = 1; round <= rounds; ++round)); do
  echo "[round $round of $rounds]"
  if ((round % 2)); then run "$old" old; run "$root" new; else run "$root" new; run "$old" old; fi
done

python3 - "$lines/old" "$lines/new" "$commit" <<'PYTHON'
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
print(f"{'id':14} {'what':72} {'of ' + sys.argv[3]:>20} {'lowest … highest':>18}  {'better':7} change")
for key, values in new.items():
    if key not in old:
        print(f"{key[0]:14} {key[1]:72} {'new':>20}")
        continue
    pairs = [(before, now) for before, now in zip(old[key], values)]
    if any(before <= 0 or now <= 0 for before, now in pairs):  # no ratio
        was, now = statistics.median(old[key]), statistics.median(values)
        print(f"{key[0]:14} {key[1]:72} {f'{was:.3g} → {now:.3g}':>20}")
        continue
    ratios = sorted(now / before for before, now in pairs)
    change = "within the spread"
    if len(ratios) < 5:
        change = "too few rounds"
    elif ratios[0] > 1 or ratios[-1] < 1:
        change = "better" if (ratios[-1] < 1) == (better[key] == "lower") else "WORSE"
    spread = f"{ratios[0]:.3f} … {ratios[-1]:.3f}"
    print(f"{key[0]:14} {key[1]:72} {statistics.median(ratios):20.3f} {spread:>18}  {better[key]:7} {change}")
for key in old:
    if key not in new:
        print(f"{key[0]:14} {key[1]:72} {'gone':>20}")
PYTHON
