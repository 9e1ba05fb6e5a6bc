# SPDX-License-Identifier: Apache-2.0
# The settings of every target of vcap: the language, hidden symbols, warnings, sanitizers.
function(vcap_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # By default, GCC spends a seventh of the time of a large unit on collecting garbage. With this it does not
    # begin before it has 1 GiB, which adds a third to the memory of the largest units.
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=1048576 --param=ggc-min-expand=200)
  endif()
  if(VCAP_SANITIZE)
    # Tests link objects of the libraries besides the libraries. With semantic interposition, which clang
    # has off by default, all callers of an exported function call the same copy.
    target_compile_options(${target} PRIVATE
      -fsanitize=${VCAP_SANITIZE} -fno-omit-frame-pointer -fsemantic-interposition)
    target_link_options(${target} PRIVATE -fsanitize=${VCAP_SANITIZE})
    if(VCAP_SANITIZE MATCHES undefined)
      # The address sanitizer finds what object-size would, which takes a seventh of the time to compile.
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=undefined -fno-sanitize=object-size)
    endif()
  endif()
endfunction()
