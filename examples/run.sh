#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The main job: finds, tracks, describes and encodes people on a video.
#   examples/run.sh [--frames N] [PATH|WEBCAM_INDEX|URL]
# Installs what is missing, builds, packs the example capsules, and runs detector → tracker →
# classifier → encoder on N frames (200) of Debian's vtest.avi or of another source. Leaves
# out/annotated.mp4, out/frames.jsonl and out/summary.txt.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
frames=200
source=
while [ $# -gt 0 ]; do
  case "$1" in
    --frames) frames=${2:?--frames needs a number}; shift 2 ;;
    -h | --help) sed -n '4,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "unknown option $1; see examples/run.sh --help" >&2; exit 2 ;;
    *) [ -z "$source" ] || { echo "one source at a time: $source, $1" >&2; exit 2; }
       source=$1; shift ;;
  esac
done
# A path is the caller's, not this folder's.
[ -z "$source" ] || [ ! -e "$source" ] || source=$(realpath "$source")
cd "$root"
build=$(examples/build.sh)

capsules=$build/examples/capsules
mkdir -p out
"$build/src/cli/vcap" run \
  --capsule $capsules/detector_person/detector_person.cap \
  --capsule $capsules/tracker_person/tracker_person.cap \
  --capsule $capsules/classifier_clothing_color/classifier_clothing_color.cap \
  --capsule $capsules/encoder_person/encoder_person.cap \
  --source "${source:-$(cmake/footage.sh)}" --max-frames "$frames" \
  --video out/annotated.mp4 --jsonl out/frames.jsonl --summary out/summary.txt
echo
for file in annotated.mp4 frames.jsonl summary.txt; do echo "$root/out/$file"; done
