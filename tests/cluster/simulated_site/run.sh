#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Simulates sites of cameras on this machine, with a broker and workers, and prints what they take and
# how long takeovers last.
#   tests/cluster/simulated_site/run.sh [CAMERAS …] [-- OPTION …]
# CAMERAS: 100, 1000 and 10000, one site after the other. Options are those of the program:
#   --workers N, --seconds N, --frames N, --objects N, --state BYTES, --record-time S, --checkpoint-time S,
#   --keep GB, --folder PATH
# Fails if a camera changed its worker without a reason, or records were lost. Measure on a machine that
# does nothing else.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
sizes=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '4,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --) shift; break ;;
    [0-9]*) sizes+=("$1"); shift ;;
    *) echo "unknown option $1; see tests/cluster/simulated_site/run.sh --help" >&2; exit 2 ;;
  esac
done
[ ${#sizes[@]} -gt 0 ] || sizes=(100 1000 10000)
cd "$root"
. cmake/progress.sh

cmake/install_dependencies.sh tests
. cmake/compiler_cache.sh
configure_with_ticks "configuring" --preset release -DVCAP_BUILD_TESTS=ON
build_with_progress "building" build/release --target vcap_simulated_site
for cameras in "${sizes[@]}"; do
  build/release/tests/cluster/simulated_site/vcap_simulated_site "$cameras" --seconds 30 "$@"
done
