#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails if a C++ file is not formatted as by clang-format 14 (Debian 12). To correct it:
#   git ls-files '*.cpp' '*.hpp' | xargs clang-format -i
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. cmake/progress.sh
cmake/install_dependencies.sh format
check() { git ls-files -z '*.cpp' '*.hpp' | xargs -0 -P "$(nproc)" -n 64 clang-format --dry-run -Werror; }
with_ticks "checking the format" check
echo "$(git ls-files '*.cpp' '*.hpp' | wc -l) files are formatted"
