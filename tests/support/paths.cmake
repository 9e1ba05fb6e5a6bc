# SPDX-License-Identifier: Apache-2.0
# vcap_test_paths: where files lie, for tests and benchmarks (support/paths.hpp, support/footage.hpp).
set(VCAP_FOOTAGE "" CACHE FILEPATH "vtest.avi, with Megamind.avi beside it (cmake/footage.sh)")
add_library(vcap_test_paths STATIC ${CMAKE_CURRENT_LIST_DIR}/paths.cpp)
vcap_target(vcap_test_paths)
target_include_directories(vcap_test_paths PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(vcap_test_paths PRIVATE VCAP_BUILD_FOLDER="${PROJECT_BINARY_DIR}"
  VCAP_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}" VCAP_FOOTAGE="${VCAP_FOOTAGE}")
