#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails if clang-tidy (Debian 12's, 14) or clang's thread safety analysis finds something in src/, or in
# a header of include/ or src/ that a source includes. .clang-tidy has the checks. Tests, benchmarks and
# examples are left out: they would take longer than all of src/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. cmake/progress.sh
cmake/install_dependencies.sh tidy
cmake/fetch_wheel.sh openvino >/dev/null  # whose headers the engine's sources include

echo "configuring"
configure_with_ticks "configuring" --preset tidy

echo "checking, 0 s"
# A mistake that must be found: else the checks are not those of .clang-tidy, and finding nothing means nothing.
cat >build/tidy/mistake.cpp <<'END'
#include "base/thread_annotations.hpp"
vcap::Mutex mutex;
int value VCAP_GUARDED_BY(mutex) = 0;
int read() { return value; }
END
found=$(clang-tidy --quiet build/tidy/mistake.cpp -- -std=c++20 -Isrc -Iinclude 2>&1) || true
if [[ $found != *"[clang-diagnostic-thread-safety-analysis,-warnings-as-errors]"* ]]; then
  printf '%s\nclang-tidy overlooks that build/tidy/mistake.cpp reads without a lock\n' "$found" >&2
  exit 1
fi

# A unit is a file that includes several sources, so that the headers they share are read once.
sources_of() {
  case $1 in
    */Unity/*) sed -n "s|^#include \"$PWD/\(.*\)\"\$|\1|p" "$1" ;;
    *) echo "${1#"$PWD/"}" ;;
  esac
}
mapfile -t units < <(sed -n 's|^ *"file": "\([^"]*\)".*|\1|p' build/tidy/compile_commands.json |
  grep -v _verify_interface_header_sets/)
left_out=$(comm -13 <(for unit in "${units[@]}"; do sources_of "$unit"; done | sort) <(find src -name '*.cpp' | sort))
if [ -n "$left_out" ]; then
  printf 'the preset tidy does not compile these, so they are not checked:\n%s\n' "$left_out" >&2
  exit 1
fi
mapfile -t units < <(for unit in "${units[@]}"; do  # the longest first
  echo "$(sources_of "$unit" | xargs cat | wc -c) $unit"
done | sort -rn | cut -d ' ' -f 2-)

# Sources do not include sources, but units do.
tidy() {
  local findings sources status=0
  findings=$(clang-tidy -p build/tidy --quiet --checks=-bugprone-suspicious-include "$1" 2>&1) || status=$?
  [ "$status" -eq 0 ] || printf '%s\n' "$findings" | sed '/^[0-9]* warnings\{0,1\} .*generated\.$/d'
  mapfile -t sources < <(sources_of "$1")
  echo "checked ${sources[0]} and $((${#sources[@]} - 1)) more"
  return "$status"
}
export -f tidy sources_of
check_all() { printf '%s\0' "${units[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -euo pipefail -c 'tidy "$1"' tidy; }
with_ticks "checking" check_all || { echo "clang-tidy found what stands above" >&2; exit 1; }
echo "$(for unit in "${units[@]}"; do sources_of "$unit"; done | sort -u | wc -l) sources are tidy, with their headers ($SECONDS s)"
