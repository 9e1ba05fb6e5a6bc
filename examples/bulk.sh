#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The same capsules on many clips, several at once, with outputs for each.
#   examples/bulk.sh [FOLDER]
# Installs what is missing, builds, packs the example capsules, and runs a job of scene changes and
# of what moves before the background over the clips of Debian's package opencv-doc, or over those
# of a folder. Leaves out/bulk/job.json, and in out/bulk/results a .jsonl and a .txt for each clip.
# Broken off and run again, it goes on; where all is done, it says so.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case "${1:-}" in
  -h | --help) sed -n '4,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  -*) echo "unknown option $1; see examples/bulk.sh --help" >&2; exit 2 ;;
esac
# A path is the caller's, not this folder's.
clips=${1:+$(realpath "$1")}
cd "$root"
build=$(examples/build.sh)
clips=${clips:-$root/build/footage}

mkdir -p out/bulk
# Paths are relative to the job file's folder.
capsules=../../$build/examples/capsules
cat >out/bulk/job.json <<JOB
{
  "schema": "vcap.job/1",
  "capsules": [
    "$capsules/scene_change/scene_change.cap",
    "$capsules/background_motion/background_motion.cap"
  ],
  "sources": ["$clips/"],
  "outputs": {"folder": "results", "summary": true}
}
JOB
"$build/src/cli/vcap" run --job out/bulk/job.json
echo
for file in out/bulk/job.json out/bulk/results/*.*; do echo "$root/$file"; done
