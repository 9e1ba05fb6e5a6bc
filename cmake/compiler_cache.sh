# SPDX-License-Identifier: Apache-2.0
# For scripts that compile: ccache, with settings by which clones share what they compile.
#   . cmake/compiler_cache.sh      in the root of the repository
export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-$PWD/cmake/compile.sh}
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros  # needed to cache sources with precompiled headers
export CCACHE_DEPEND=1                            # a source is not preprocessed before it is compiled
