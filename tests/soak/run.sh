#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs streams that come and go, and capsules that are replaced, hang and fail, for DURATION, and
# checks that memory, descriptors and threads do not grow and that every frame is accounted for.
#   tests/soak/run.sh DURATION     such as 90s, 30m or 72h
# Before that, runs for a minute with a capsule that leaks, and must find the leak. If a check fails,
# the exit code is 1, and a sentence says which check.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
case "${1:-}" in
  -h | --help) sed -n '4,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  [0-9]*[smh]) duration=$1 ;;
  *) echo "give a duration, such as 90s, 30m or 72h; see tests/soak/run.sh --help" >&2; exit 2 ;;
esac
cd "$root"
. cmake/progress.sh

cmake/install_dependencies.sh tests
footage=$(cmake/footage.sh)
. cmake/compiler_cache.sh
configure_with_ticks "configuring" --preset release -DVCAP_FOOTAGE="$footage"
build_with_progress "building" build/release --target vcap_soak
soak=build/release/tests/soak/vcap_soak

echo "-- with a capsule that leaks 16 KiB each frame"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
with_ticks "running with the leak" "$soak" 60s --leak --footage "$footage" | tee "$log" || status=$?
if [ "$status" -ne 1 ] || ! grep -q 'memory grows' "$log"; then
  echo "the leak was not found (exit code $status): the check of memory is broken" >&2
  exit 1
fi
echo "-- the leak was found; now without one, for $duration"
with_ticks "running" "$soak" "$duration" --footage "$footage"
