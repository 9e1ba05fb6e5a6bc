#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The main example: finds, tracks, describes and encodes people in a video.
#   examples/run.sh [--frames N] [--hog] [PATH|WEBCAM_INDEX|URL]
# Installs missing packages, builds, packs the example capsules, and runs detector → tracker →
# classifier → encoder on N frames (200) of Debian's vtest.avi or of another source. Writes
# out/annotated.mp4, out/frames.jsonl and out/summary.txt. --hog uses detector_person_hog as detector,
# which needs no network and finds fewer people.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
frames=200
detector=detector_person
source=
while [ $# -gt 0 ]; do
  case "$1" in
    --frames) frames=${2:?--frames needs a number}; shift 2 ;;
    --hog) detector=detector_person_hog; shift ;;
    -h | --help) sed -n '4,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "unknown option $1; see examples/run.sh --help" >&2; exit 2 ;;
    *) [ -z "$source" ] || { echo "one source at a time: $source, $1" >&2; exit 2; }
       source=$1; shift ;;
  esac
done
# A path is relative to the caller's folder, not to this one.
[ -z "$source" ] || [ ! -e "$source" ] || source=$(realpath "$source")
cd "$root"
. cmake/progress.sh
build=$(examples/build.sh)

capsules=$build/examples/capsules
if [ "$detector" = detector_person ]; then
  missing=
  [ -e "$build/src/libvcap_engine_openvino.so" ] || missing="OpenVINO (the wheel openvino of cmake/wheels.txt)"
  [ -e "$capsules/detector_person/detector_person.cap" ] ||
    missing="${missing:+$missing and }the weights of its network (the wheel mediapipe of cmake/wheels.txt)"
  if [ -n "$missing" ]; then
    echo "detector_person cannot run: $missing is missing. The messages above say why it could not be fetched." \
      "Try cmake/fetch_wheels.sh, or run examples/run.sh --hog, which needs no network." >&2
    exit 1
  fi
fi
mkdir -p out
echo "[3/3] running" >&2
with_ticks_in_pipe "[3/3] running" "$build/src/cli/vcap" run \
  --capsule "$capsules/$detector/$detector.cap" \
  --capsule $capsules/tracker_person/tracker_person.cap \
  --capsule $capsules/classifier_clothing_color/classifier_clothing_color.cap \
  --capsule $capsules/encoder_person/encoder_person.cap \
  --source "${source:-$(cmake/footage.sh)}" --max-frames "$frames" \
  --video out/annotated.mp4 --jsonl out/frames.jsonl --summary out/summary.txt
echo
for file in annotated.mp4 frames.jsonl summary.txt; do echo "$root/out/$file"; done
