// SPDX-License-Identifier: Apache-2.0
// host.cpp with vcap::core alone.
#include <vcap/core.hpp>

#include <iostream>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

int main(int, char** argv) {
  const auto capsule = vcap::load_capsule(argv[1]);
  const vcap::Frame frame{.image = cv::Mat(4, 6, CV_8UC3, cv::Scalar::all(200))};
  for (const vcap::DetectionNode& node : capsule->process_frame(frame))
    for (const auto& [key, value] : node.extra_data.items())
      std::cout << key << '=' << value.get<double>() << '\n';
}
