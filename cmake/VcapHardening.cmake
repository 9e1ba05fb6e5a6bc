# SPDX-License-Identifier: Apache-2.0
# The flags with which distributions build code that reads untrusted input. They turn many memory errors
# into a crash, or make it hard to use them for an attack. docs/security.md lists them, and
# tests/support/check_hardening.sh shows that they are in the files.
#
# vcap_harden(TARGET): for builds with optimisation. Private: users of vcap choose their own flags.
option(VCAP_HARDENING "Build libraries, command and examples with flags against attacks, unless VCAP_SANITIZE is set" ON)
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)  # then programs are linked with -pie

set(vcap_hardening_flags "")
foreach(flag
    -fstack-protector-strong   # a changed return address is noticed before it is used
    -fstack-clash-protection   # a large frame cannot step over the guard page
    -fcf-protection            # x86: indirect jumps only to marked places
    -mbranch-protection=standard)  # the same on ARM
  string(MAKE_C_IDENTIFIER "VCAP_HAS${flag}" known)
  check_cxx_compiler_flag(${flag} ${known})
  if(${known})
    list(APPEND vcap_hardening_flags ${flag})
  endif()
endforeach()

# Checked copies: level 3 also checks memory whose size is known only when the program runs. It needs
# GCC 12 or clang 9, and glibc 2.34. A C library without it says so by the level that it uses.
set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_cxx_source_compiles("
  #include <cstdlib>
  #if !defined(__USE_FORTIFY_LEVEL) || __USE_FORTIFY_LEVEL < 3
  #error
  #endif
  int main() { return 0; }" VCAP_HAS_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
# A distribution may have set another level.
set(level 2)
if(VCAP_HAS_FORTIFY_3)
  set(level 3)
endif()
list(APPEND vcap_hardening_flags -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level})
unset(level)

function(vcap_harden target)
  if(NOT VCAP_HARDENING OR VCAP_SANITIZE)  # the sanitizers check the same, and more
    return()
  endif()
  set(is_optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  target_compile_options(${target} PRIVATE "$<${is_optimised}:${vcap_hardening_flags}>")
  # All functions of other libraries are bound at the start; then their addresses cannot be changed.
  target_link_options(${target} PRIVATE "$<${is_optimised}:-Wl,-z,relro,-z,now>")
endfunction()
