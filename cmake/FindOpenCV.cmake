# SPDX-License-Identifier: Apache-2.0
# OpenCV by its own package configuration or, if that is missing, by headers and libraries: Debian has
# the configuration only in libopencv-dev, which brings every module and 320 MB, and each module in a
# package of its own.
find_package(OpenCV ${OpenCV_FIND_VERSION} CONFIG QUIET COMPONENTS ${OpenCV_FIND_COMPONENTS})
if(OpenCV_FOUND)
  return()
endif()

find_path(OpenCV_INCLUDE_DIR opencv2/core/version.hpp PATH_SUFFIXES opencv4)
mark_as_advanced(OpenCV_INCLUDE_DIR)
set(OpenCV_INCLUDE_DIRS ${OpenCV_INCLUDE_DIR})
if(OpenCV_INCLUDE_DIR)
  file(READ ${OpenCV_INCLUDE_DIR}/opencv2/core/version.hpp OpenCV_version_header)
  set(OpenCV_VERSION)
  foreach(part MAJOR MINOR REVISION)
    string(REGEX MATCH "CV_VERSION_${part} +([0-9]+)" _ "${OpenCV_version_header}")
    list(APPEND OpenCV_VERSION ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN OpenCV_VERSION . OpenCV_VERSION)
  unset(OpenCV_version_header)
endif()

set(OpenCV_LIBS)
foreach(component IN LISTS OpenCV_FIND_COMPONENTS)
  find_library(OpenCV_${component}_LIBRARY opencv_${component})
  mark_as_advanced(OpenCV_${component}_LIBRARY)
  if(OpenCV_${component}_LIBRARY AND OpenCV_INCLUDE_DIR)
    set(OpenCV_${component}_FOUND TRUE)
    list(APPEND OpenCV_LIBS opencv_${component})
    if(NOT TARGET opencv_${component})
      # Without include folders, as the targets of OpenCV's own configuration.
      add_library(opencv_${component} SHARED IMPORTED)
      set_target_properties(opencv_${component} PROPERTIES IMPORTED_LOCATION ${OpenCV_${component}_LIBRARY})
    endif()
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenCV REQUIRED_VARS OpenCV_LIBS OpenCV_INCLUDE_DIR
  VERSION_VAR OpenCV_VERSION HANDLE_COMPONENTS
  REASON_FAILURE_MESSAGE "name its modules as COMPONENTS, and install them, or install libopencv-dev")
