#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles through ccache, so that a clone finds what one in another folder compiled. CMake writes the full
# path of each source into its unity files, so a copy with paths from the root is compiled instead.
#   cmake/compile.sh COMPILER ARGUMENT … -c FILE
set -eu
for file; do :; done
case $file in
  */Unity/unity_*.cxx) ;;
  *) exec ccache "$@" ;;
esac

root=$(dirname "$(dirname "$0")")
copy=${file%.cxx}.relative.cxx
sed "s|^#include \"$root/|#include \"|" "$file" >"$copy"
for argument; do
  shift
  [ "$argument" = "$file" ] || set -- "$@" "$argument"
done
exec ccache "$@" -iquote "$root" "$copy"
