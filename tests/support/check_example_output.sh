#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_example_output.sh FRAMES: fails unless the outputs of examples/run.sh --frames FRAMES and of
# examples/bulk.sh are complete.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
frames=${1:?number of frames}
build=build/${VCAP_PRESET:-release}
fail() { echo "the examples: $*" >&2; exit 1; }

lines=$(wc -l <out/frames.jsonl)
[ "$lines" -eq "$frames" ] || fail "out/frames.jsonl has $lines lines, not $frames"
for key in '^{"schema":"vcap.frame/1"' '"name":"person"' '"track_id":' '"upper_color":' '"encoding":'; do
  found=$(grep -c "$key" out/frames.jsonl) || true
  [ $((found * 10)) -gt $((frames * 9)) ] || fail "$key stands in only $found of $frames lines"
done
! grep -q '"errors":' out/frames.jsonl ||
  fail "a capsule failed: $(grep -m1 -o '"errors":.*' out/frames.jsonl)"
[ -s out/summary.txt ] || fail "out/summary.txt is empty"

# The vcap command reads the clip, frame by frame.
replay=$(mktemp -d)
trap 'rm -rf "$replay"' EXIT
"$build/src/cli/vcap" run --source out/annotated.mp4 --jsonl "$replay/frames.jsonl" \
  --capsule "$build/examples/capsules/detector_person/detector_person.cap" >/dev/null
played=$(wc -l <"$replay/frames.jsonl")
[ "$played" -eq "$frames" ] || fail "out/annotated.mp4 plays $played frames, not $frames"
echo "examples/run.sh wrote $frames records, an annotated clip of $played frames and a summary"

for clip in build/footage/*.avi; do
  name=$(basename "$clip" .avi)
  results=out/bulk/results
  told=$(sed -n 's/^ *frames  *//p' "$results/$name.txt")
  lines=$(wc -l <"$results/$name.jsonl")
  [ "$lines" -gt 0 ] && [ "$lines" = "$told" ] || fail "$results/$name.jsonl has $lines lines, not $told"
  ! grep -q '"errors":' "$results/$name.jsonl" || fail "a capsule failed: $results/$name.jsonl"
done
again=$("$build/src/cli/vcap" run --job out/bulk/job.json)
grep -q 'videos done *0$' <<<"$again" || fail "a job that is done was run again: $again"
echo "examples/bulk.sh wrote records and a summary of $(ls out/bulk/results/*.jsonl | wc -l) clips"
