#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of vtest.avi (pedestrians, 795 frames, 768×576, 10 fps). Takes it from Debian's
# package opencv-doc, which is downloaded into the build folder and not installed. The same folder gets
# the other clips of that package: Megamind.avi, which shows a face, a damaged copy of it
# (Megamind_bugy.avi), and tree.avi. The folder `pictures` gets its photographs and drawings.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/cmake/progress.sh"
folder=$root/build/footage
video=$folder/vtest.avi  # the last file to be put there
if [ ! -s "$video" ] || [ ! -s "$folder/tree.avi" ] || [ ! -d "$folder/pictures" ]; then
  mkdir -p "$folder"
  staging=$(mktemp -d "$folder/staging.XXXXXX")
  trap 'rm -rf "$staging"' EXIT
  cd "$staging"
  # As root, apt would download as a user who may not write here, and warn about it.
  download=(apt-get -qq -o APT::Sandbox::User=root download opencv-doc)
  fetch() {
    "${download[@]}" && return
    # No package lists yet, or stale ones.
    if [ "$(id -u)" -eq 0 ]; then apt-get -qq update || true
    elif command -v sudo >/dev/null; then sudo apt-get -qq update || true; fi
    "${download[@]}"
  }
  fetch_into_log() { fetch >log 2>&1; }
  echo "downloading clips (the package opencv-doc, some 96 MB)" >&2
  with_ticks "downloading clips" fetch_into_log >&2 ||
    { cat log >&2; echo "cannot download the package opencv-doc" >&2; exit 1; }
  with_ticks "unpacking clips" dpkg-deb -x opencv-doc_*.deb unpacked >&2
  data=unpacked/usr/share/doc/opencv-doc/examples/data
  mkdir pictures
  mv "$data"/*.jpg "$data"/*.png pictures
  rm -rf "$folder/pictures"
  mv pictures "$folder"
  for clip in Megamind.avi Megamind_bugy.avi tree.avi vtest.avi; do mv "$data/$clip" "$folder"; done
fi
echo "$video"
