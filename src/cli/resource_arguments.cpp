// SPDX-License-Identifier: Apache-2.0
#include "cli/resource_arguments.hpp"

namespace vcap::cli {

void ResourceArguments::add_to(CLI::App& command, const std::string& cache_name) {
  command
      .add_option(cache_name, cache,
                  "The folder for fetched resources, instead of $VCAP_CACHE or ~/.cache/vcap")
      ->type_name("FOLDER");
  command
      .add_option("--mirror", mirror,
                  "Fetches MIRROR/SHA256 instead of a resource's own URL, as $VCAP_RESOURCE_MIRROR "
                  "does")
      ->type_name("URL");
  command.add_flag("--offline", offline,
                   "Fetches nothing, as VCAP_OFFLINE=1 does; if a file is missing, the error says "
                   "where to put it");
}

ResourceOptions ResourceArguments::options() const {
  return {.cache = cache, .mirror = mirror, .offline = offline};
}

}  // namespace vcap::cli
