#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, fetches the weights of networks, builds the vcap command, and builds and packs
# the example capsules; those without weights are left out. Prints the build folder.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
preset=${VCAP_PRESET:-release}
exec 3>&1 >&2

cmake/install_dependencies.sh
footage=$(cmake/footage.sh)
cmake/fetch_wheels.sh || echo "going on without these" >&2
export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1  # clones share what they compile
cmake --preset "$preset" -DVCAP_FOOTAGE="$footage" >build/configure.log || { cat build/configure.log; exit 1; }
cmake --build "build/$preset" --target examples vcap_cli -- --quiet
echo "build/$preset" >&3
