// SPDX-License-Identifier: Apache-2.0
// host CAPSULE: loads the capsule with vcap::core, answers one frame from memory, and ends.
// host CAPSULE --libraries: also prints how many libraries the process has.
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vcap/core.hpp>

#include "start/brightness.hpp"

int main(int argc, char** argv) {
  const auto capsule = vcap::load_capsule(argv[1]);
  const vcap::Frame frame{.image = vcap::bench::start::picture()};
  double brightness = 0;
  for (const vcap::DetectionNode& node : capsule->process_frame(frame))
    brightness = node.extra_data.at("brightness").get<double>();
  if (argc == 3) {
    int libraries = -1;  // the program itself is one of the entries
    ::dl_iterate_phdr(
        [](dl_phdr_info*, std::size_t, void* count) { return ++*static_cast<int*>(count), 0; },
        &libraries);
    std::printf("%d\n", libraries);
  }
  return brightness == 200 ? EXIT_SUCCESS : EXIT_FAILURE;
}
