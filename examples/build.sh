#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs missing packages, fetches the weights of networks, builds the vcap command, and builds and
# packs the example capsules. Leaves out capsules whose weights are missing. Prints the build folder.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. cmake/progress.sh
preset=${VCAP_PRESET:-release}
exec 3>&1 >&2

echo "[1/3] packages and weights"
cmake/install_dependencies.sh
cmake/footage.sh >/dev/null  # downloads the footage
cmake/fetch_wheels.sh || echo "continuing without these" >&2
. cmake/compiler_cache.sh
echo "[2/3] building"
configured=()
# The packages that tests need may be missing, so a new build folder is configured without tests. An
# existing one keeps its setting.
[ -e "build/$preset/CMakeCache.txt" ] || configured=(-DVCAP_BUILD_TESTS=OFF)
configure_with_ticks "[2/3] configuring" --preset "$preset" "${configured[@]}"
build_with_progress "[2/3] building" "build/$preset" --target examples vcap_cli
echo "build/$preset" >&3
