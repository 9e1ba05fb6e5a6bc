#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the same capsules on many clips, several at once, with outputs for each clip.
#   examples/bulk.sh [FOLDER]
# Installs missing packages, builds, packs the example capsules, and runs a job over the clips of
# Debian's package opencv-doc, or of FOLDER. The job finds scene changes and moving things. It writes
# out/bulk/job.json, and in out/bulk/results a .jsonl and a .txt for each clip.
# If it is interrupted, run it again: it resumes the job. If everything is done, it says so.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case "${1:-}" in
  -h | --help) sed -n '4,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  -*) echo "unknown option $1; see examples/bulk.sh --help" >&2; exit 2 ;;
esac
# A path is relative to the caller's folder, not to this one.
clips=${1:+$(realpath "$1")}
cd "$root"
. cmake/progress.sh
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
echo "[3/3] running" >&2
with_ticks_in_pipe "[3/3] running" "$build/src/cli/vcap" run --job out/bulk/job.json
echo
for file in out/bulk/job.json out/bulk/results/*.*; do echo "$root/$file"; done
