# SPDX-License-Identifier: Apache-2.0
#
# vcap_add_capsule(<name>
#   SOURCES <file>...            the plugin's sources
#   [FILES <path>|<name>=<path>...]  further files of the capsule, under their own or the given name
#   [LIBRARIES <target>...])     the libraries that the plugin links besides vcap::core
#
# Builds the plugin <name> and packs it into ${CMAKE_CURRENT_BINARY_DIR}/<name>.cap. The property
# VCAP_CAPSULE_FILE of the target <name> holds that path; the target <name>_cap packs the file.
function(vcap_add_capsule name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;FILES;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "vcap_add_capsule(${name}): give SOURCES, and nothing else than FILES and "
                        "LIBRARIES; found: ${arg_UNPARSED_ARGUMENTS}")
  endif()

  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE vcap::core ${arg_LIBRARIES})
  target_compile_features(${name} PRIVATE cxx_std_20)
  set_target_properties(${name} PROPERTIES
    PREFIX "" OUTPUT_NAME capsule
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    # Libraries on the author's machine may be missing on a host, so no search path of the build is kept.
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "")

  set(pack_arguments "")
  set(pack_inputs "")
  foreach(entry IN LISTS arg_FILES)
    if(entry MATCHES "^([^=]+)=(.+)$")
      set(entry_name ${CMAKE_MATCH_1})
      set(path ${CMAKE_MATCH_2})
    else()
      get_filename_component(entry_name ${entry} NAME)
      set(path ${entry})
    endif()
    get_filename_component(path ${path} ABSOLUTE)
    list(APPEND pack_arguments --file ${entry_name}=${path})
    list(APPEND pack_inputs ${path})
  endforeach()

  set(capsule_file ${CMAKE_CURRENT_BINARY_DIR}/${name}.cap)
  add_custom_command(
    OUTPUT ${capsule_file}
    COMMAND vcap::cli pack --library $<TARGET_FILE:${name}> ${pack_arguments} --output ${capsule_file}
    DEPENDS ${name} ${pack_inputs} vcap::cli
    COMMENT "Packing ${name}.cap"
    VERBATIM)
  add_custom_target(${name}_cap ALL DEPENDS ${capsule_file})
  set_target_properties(${name} PROPERTIES VCAP_CAPSULE_FILE ${capsule_file})
endfunction()
