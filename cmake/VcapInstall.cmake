# SPDX-License-Identifier: Apache-2.0
# cmake --install: the library, the headers, the command, find_package(vcap) and pkg-config.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vcap)
install(TARGETS vcap vcap_backends EXPORT vcap-targets FILE_SET HEADERS)
set_target_properties(vcap_backends PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS vcap_engine_opencv_dnn LIBRARY)
set_target_properties(vcap_engine_opencv_dnn PROPERTIES INSTALL_RPATH "$ORIGIN")
if(TARGET vcap_engine_openvino)
  # The parts of OpenVINO that the engine needs are installed with it, since Debian has no package of it.
  set_target_properties(vcap_engine_openvino PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/vcap/openvino")
  install(TARGETS vcap_engine_openvino LIBRARY)
  get_target_property(openvino_library openvino::runtime IMPORTED_LOCATION_RELEASE)
  get_filename_component(openvino_folder ${openvino_library} DIRECTORY)
  install(DIRECTORY ${openvino_folder}/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/vcap/openvino
    FILES_MATCHING PATTERN "libopenvino.so*" PATTERN "libopenvino_*_plugin.so"
                   PATTERN "libopenvino_ir_frontend.so*" PATTERN "libopenvino_onnx_frontend.so*"
                   PATTERN "libopenvino_tensorflow*_frontend.so*")
  file(GLOB openvino_licenses ${openvino_folder}/../../openvino-*.dist-info/licenses)
  install(DIRECTORY ${openvino_licenses} DESTINATION ${CMAKE_INSTALL_DOCDIR}/openvino)
endif()
if(VCAP_BUILD_CLI)
  set_target_properties(vcap_cli PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS vcap_cli EXPORT vcap-targets)
endif()
install(EXPORT vcap-targets NAMESPACE vcap:: DESTINATION ${package_dir})

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/vcap-config.cmake.in ${PROJECT_BINARY_DIR}/vcap-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vcap-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/vcap-config.cmake
  ${PROJECT_BINARY_DIR}/vcap-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/VcapAddCapsule.cmake
  DESTINATION ${package_dir})

# Relative to the .pc file, so that `cmake --install --prefix` and moved folders work.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH vcap_pc_to_prefix /${pkgconfig_dir} /)
set(vcap_opencv_include ${OpenCV_INCLUDE_DIRS})
configure_file(${PROJECT_SOURCE_DIR}/cmake/vcap.pc.in ${PROJECT_BINARY_DIR}/vcap.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/vcap.pc DESTINATION ${pkgconfig_dir})
