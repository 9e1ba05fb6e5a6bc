// SPDX-License-Identifier: Apache-2.0
// peer LIBRARY: the same as host.cpp without vcap: loads a library with the algorithm.
#include <dlfcn.h>

#include <cstdlib>

#include "start/brightness.hpp"

int main(int, char** argv) {
  void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return EXIT_FAILURE;
  using Brightness = double (*)(const cv::Mat&);
  const auto brightness = reinterpret_cast<Brightness>(::dlsym(library, "brightness"));
  // Uses imgproc and TBB itself, as a host does, so that the linker keeps them.
  const cv::Mat picture = vcap::bench::start::picture();
  return brightness(picture) == 200 && vcap::bench::start::brightness(picture) == 200
             ? EXIT_SUCCESS
             : EXIT_FAILURE;
}
