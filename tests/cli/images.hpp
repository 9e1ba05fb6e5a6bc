// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include <opencv2/imgcodecs.hpp>

#include "support/temporary_folder.hpp"

namespace vcap::test {

/// Writes a folder of `count` images, a source that every machine reads in the same way. Gives its
/// path.
inline std::string images(const TemporaryFolder& folder, const std::string& name, int count,
                          cv::Size size = {64, 48}) {
  std::filesystem::create_directories(folder / name);
  for (int i = 0; i < count; ++i) {
    const std::filesystem::path path = folder / name / (std::to_string(i) + ".png");
    if (!cv::imwrite(path.string(), cv::Mat(size, CV_8UC3, cv::Scalar::all(10 * i % 256))))
      throw std::runtime_error("cannot write " + path.string());
  }
  return (folder / name).string();
}

}  // namespace vcap::test
