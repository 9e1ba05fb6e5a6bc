# SPDX-License-Identifier: Apache-2.0
# cmake --install: the libraries, the headers, the command, find_package(vcap) and pkg-config.
# Components: core, vcap, view, cluster, backends and cli; each has a file of targets, so that core can be installed
# without the others.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vcap)
function(vcap_install component)
  install(TARGETS ${ARGN} EXPORT vcap-${component}-targets COMPONENT ${component}
    FILE_SET HEADERS COMPONENT ${component})
  install(EXPORT vcap-${component}-targets NAMESPACE vcap:: DESTINATION ${package_dir}
    COMPONENT ${component})
endfunction()
set_target_properties(vcap vcap_view vcap_cluster vcap_download vcap_opencv_io vcap_messages vcap_nats vcap_backends
  vcap_engine_opencv_dnn PROPERTIES
  INSTALL_RPATH "$ORIGIN")
vcap_install(core vcap_core)
vcap_install(vcap vcap)
vcap_install(view vcap_view)
vcap_install(cluster vcap_cluster)
vcap_install(backends vcap_backends)
install(TARGETS vcap_download LIBRARY COMPONENT core NAMELINK_SKIP)
install(TARGETS vcap_opencv_io vcap_messages LIBRARY COMPONENT vcap NAMELINK_SKIP)
install(TARGETS vcap_nats LIBRARY COMPONENT cluster NAMELINK_SKIP)
install(TARGETS vcap_engine_opencv_dnn LIBRARY COMPONENT backends)
if(TARGET vcap_engine_openvino)
  # The parts of OpenVINO that the engine needs are installed with it, since Debian has no package of it.
  set_target_properties(vcap_engine_openvino PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/vcap/openvino")
  install(TARGETS vcap_engine_openvino LIBRARY COMPONENT backends)
  get_target_property(openvino_library openvino::runtime IMPORTED_LOCATION_RELEASE)
  get_filename_component(openvino_folder ${openvino_library} DIRECTORY)
  install(DIRECTORY ${openvino_folder}/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/vcap/openvino
    COMPONENT backends
    FILES_MATCHING PATTERN "libopenvino.so*" PATTERN "libopenvino_*_plugin.so"
                   PATTERN "libopenvino_ir_frontend.so*" PATTERN "libopenvino_onnx_frontend.so*"
                   PATTERN "libopenvino_tensorflow*_frontend.so*")
  file(GLOB openvino_licenses ${openvino_folder}/../../openvino-*.dist-info/licenses)
  install(DIRECTORY ${openvino_licenses} DESTINATION ${CMAKE_INSTALL_DOCDIR}/openvino COMPONENT backends)
endif()
if(VCAP_BUILD_CLI)
  set_target_properties(vcap_cli PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  vcap_install(cli vcap_cli)
  if(TARGET vcap_pages)
    get_target_property(pages vcap_pages FOLDER_OF_PAGES)
    install(DIRECTORY ${pages}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT cli)
    install(FILES ${pages}/vcap.bash COMPONENT cli RENAME vcap
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${pages}/_vcap COMPONENT cli DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${pages}/vcap.fish COMPONENT cli
      DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/vcap-config.cmake.in ${PROJECT_BINARY_DIR}/vcap-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vcap-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/vcap-config.cmake
  ${PROJECT_BINARY_DIR}/vcap-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindOpenCV.cmake
  ${PROJECT_SOURCE_DIR}/cmake/VcapAddCapsule.cmake
  DESTINATION ${package_dir} COMPONENT core)

# Relative to the .pc file, so that `cmake --install --prefix` and moved folders work.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH vcap_pc_to_prefix /${pkgconfig_dir} /)
set(vcap_opencv_include ${OpenCV_INCLUDE_DIRS})
foreach(library vcap-core vcap)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${library}.pc.in ${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/vcap-core.pc DESTINATION ${pkgconfig_dir} COMPONENT core)
install(FILES ${PROJECT_BINARY_DIR}/vcap.pc DESTINATION ${pkgconfig_dir} COMPONENT vcap)
