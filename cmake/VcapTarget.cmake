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
  if(VCAP_SANITIZE)
    # Tests link objects of the libraries besides the libraries. With semantic interposition, which clang
    # has off by default, all callers of an exported function call the same copy.
    target_compile_options(${target} PRIVATE
      -fsanitize=${VCAP_SANITIZE} -fno-omit-frame-pointer -fsemantic-interposition)
    target_link_options(${target} PRIVATE -fsanitize=${VCAP_SANITIZE})
    if(VCAP_SANITIZE MATCHES undefined)
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=undefined)
    endif()
  endif()
endfunction()
