// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "support/temporary_folder.hpp"

namespace vcap::test {

/// Contents of files by name.
using Outputs = std::map<std::string, std::string>;

/// The files of the folder, without hidden ones; empty if the folder does not exist.
inline Outputs outputs_in(const std::filesystem::path& folder) {
  Outputs outputs;
  if (!std::filesystem::exists(folder)) return outputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().native().front() != '.')
      outputs.emplace(entry.path().filename(), read_file(entry.path()));
  return outputs;
}

}  // namespace vcap::test
