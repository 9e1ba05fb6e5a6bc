#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_FOLDER COMPILER: see CMakeLists.txt.
set -euo pipefail
build=$1
compiler=$2
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
