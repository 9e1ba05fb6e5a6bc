// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/examples.hpp"
#include "examples/streams.hpp"
#include "support/paths.hpp"
#include "vcap/backends/engine.hpp"

// Shared by the tests of the capsules with networks.

namespace examples {

/// Why a capsule with a network cannot be tested, and the remedy; `nullopt` if it can.
inline std::optional<std::string> missing_for(const std::string& name) {
  std::string what;
  if (!std::ranges::count(vcap::installed_engines(), "openvino"))
    what = "the engine openvino";
  else if (!std::filesystem::exists(capsule_path(name)))
    what = "the capsule " + name;
  else
    return std::nullopt;
  return what +
         " is not built; run cmake/fetch_wheels.sh, then configure and build again. To leave out "
         "all networks and their tests: tests/run.sh --without-networks, or CMake's "
         "-DVCAP_WITHOUT_NETWORKS=ON";
}

/// Fails a test if that capsule or its engine is not built. Skips it if the build was configured
/// without networks.
#define REQUIRE_NETWORK(name)                                         \
  if (VCAP_WITHOUT_NETWORKS)                                          \
    GTEST_SKIP() << "configured with VCAP_WITHOUT_NETWORKS";          \
  else if (const auto missing = examples::missing_for(name); missing) \
  FAIL() << *missing

/// Keeps loaded capsules until the last test has run.
class LoadedNetworks final : public testing::Environment {
 public:
  /// The capsule, loaded without the user's cache.
  std::shared_ptr<vcap::Capsule> get(const std::string& name) {
    std::shared_ptr<vcap::Capsule>& capsule = loaded_[name];
    if (!capsule)
      capsule = vcap::load_capsule(
          capsule_path(name),
          {.config = {{"engine", {{"cache_folder", ""}}}}, .devices = {"CPU:0"}});
    return capsule;
  }
  void TearDown() override { loaded_.clear(); }

 private:
  std::map<std::string, std::shared_ptr<vcap::Capsule>> loaded_;
};

inline LoadedNetworks& loaded_networks =
    static_cast<LoadedNetworks&>(*testing::AddGlobalTestEnvironment(new LoadedNetworks));

inline std::shared_ptr<vcap::Capsule> network(const std::string& name) {
  return loaded_networks.get(name);
}

/// A picture of the package opencv-doc.
inline cv::Mat picture(const std::string& name) {
  const auto path = footage("pictures/" + name);
  cv::Mat read = cv::imread(path.string(), cv::IMREAD_COLOR);
  if (read.empty()) throw std::runtime_error(path.string() + " cannot be read");
  return read;
}

/// The labels of tests/data/opencv_samples, which were made by hand: "faces" or "text".
inline nlohmann::json labels(const std::string& what) {
  std::ifstream file(vcap::test::in_sources("tests/data/opencv_samples") + "/" + what + ".json");
  return nlohmann::json::parse(file);
}

inline vcap::DetectionNode node(const std::string& name, const cv::Rect2d& box) {
  return {.name = name, .coords = vcap::rect_to_coords(box)};
}

/// The result of a capsule for single nodes for one node.
inline vcap::DetectionNode process(const std::string& capsule, const cv::Mat& image,
                                   vcap::DetectionNode node) {
  return network(capsule)
      ->process_frame({.image = image}, vcap::DetectionNodes::single(std::move(node)))
      .node();
}

inline cv::Point2d point(const vcap::DetectionNode& node, const std::string& name) {
  const auto found = std::ranges::find(node.keypoints, name, &vcap::Keypoint::name);
  if (found == node.keypoints.end()) throw std::runtime_error("there is no keypoint " + name);
  return found->point;
}

/// The objects of each frame of `streams` concurrent streams, which all have the same pictures.
inline std::vector<std::vector<std::string>> objects_of_streams(
    const std::vector<std::string>& capsules, const std::vector<cv::Mat>& pictures,
    std::size_t streams) {
  std::vector<std::shared_ptr<vcap::Capsule>> loaded;
  for (const std::string& name : capsules) loaded.push_back(network(name));
  vcap::Pipeline pipeline(loaded);
  std::vector<std::vector<std::string>> objects(streams);
  for (std::size_t i = 0; i < streams; ++i)
    pipeline.open_stream({.id = std::to_string(i),
                          .source = std::make_unique<Pictures>(pictures),
                          .sinks = {vcap::make_callback_sink(
                              [&objects, i](const vcap::FrameRecord& record) {
                                objects[i].push_back(nlohmann::json(record).at("objects").dump());
                              },
                              false)}});
  for (std::size_t i = 0; i < streams; ++i) {
    const vcap::StreamReport report = pipeline.wait(std::to_string(i));
    EXPECT_EQ(report.failure.value_or(""), "");
    EXPECT_EQ(report.errors, 0);
  }
  return objects;
}

}  // namespace examples
