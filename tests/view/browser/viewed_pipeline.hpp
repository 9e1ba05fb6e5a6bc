// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "support/pipeline_helpers.hpp"
#include "support/view_client.hpp"
#include "vcap/sources/frame_feed.hpp"
#include "vcap/view/live_view.hpp"

namespace vcap::test {

/// A source of pictures, some fifty a second while it lives, whose brightness says their number.
class MovingPictures {
 public:
  std::unique_ptr<Source> source() { return feed_.source(); }

 private:
  void push(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any pace;
    for (int i = 0; !stop.stop_requested(); ++i) {
      feed_.try_push(cv::Mat(180, 320, CV_8UC3, cv::Scalar::all(10 * (i % 20))));
      std::unique_lock lock(mutex);
      pace.wait_for(lock, stop, std::chrono::milliseconds(20), [] { return false; });
    }
    feed_.end();
  }

  FrameFeed feed_{{.live = true}};
  std::jthread thread_{[this](const std::stop_token& stop) { push(stop); }};
};

/// Finds an object named "person" in each frame, whose confidence is the option "threshold". Its
/// config has a line, zones and a name.
inline std::shared_ptr<Capsule> make_viewed_capsule() {
  CapsuleInfo info = detector_info("finder", "person");
  info.description = "Finds <b>persons</b>";
  info.output_type.extra_data = {"confidence"};
  info.options = {
      {"threshold",
       FloatOption{
           .default_value = 0.5, .min = 0.1, .max = 1.0, .description = "least confidence"}},
      {"most", IntOption{.default_value = 3, .min = 0, .max = 10}},
      {"fast", BoolOption{}},
      {"model", EnumOption{.default_value = "small", .choices = {"small", "large"}}}};
  info.stream_config_schema = nlohmann::json::parse(R"({
      "properties": {
        "line": {"type": "array", "format": "line", "minItems": 2, "maxItems": 2},
        "zones": {"type": "array", "items": {"type": "array", "format": "polygon", "minItems": 3}},
        "name": {"type": "string", "maxLength": 20, "default": "door"}},
      "additionalProperties": false})");
  info.stream_state = make_stream_state<CountingState>();
  return make_capsule(std::move(info), [](const Frame&, DetectionNodes, const OptionValues& options,
                                          BaseStreamState&) {
    DetectionNodes nodes = DetectionNodes::all();
    DetectionNode node = node_at("person", 40, 40);
    node.extra_data = {{"confidence", options.get<double>("threshold")}};
    nodes.add(std::move(node));
    return nodes;
  });
}

/// A pipeline with streams of moving pictures and a live view of them.
class ViewedPipeline {
 public:
  explicit ViewedPipeline(LiveViewSettings settings = {},
                          std::vector<std::shared_ptr<Capsule>> capsules = {make_viewed_capsule()})
      : pipeline_(std::move(capsules)), view_(pipeline_, std::move(settings)) {}

  /// `sink` gets the stream's records, too.
  void add(const std::string& id, std::shared_ptr<Sink> sink = nullptr) {
    add(id, pictures_[id].source(), std::move(sink));
  }
  void add(const std::string& id, std::unique_ptr<Source> source,
           std::shared_ptr<Sink> sink = nullptr) {
    StreamConfig config{.id = id, .source = std::move(source)};
    if (sink) config.sinks.push_back(std::move(sink));
    add(std::move(config));
  }
  void add(StreamConfig config) {
    config.sinks.push_back(view_.sink());
    pipeline_.open_stream(std::move(config));
  }

  Pipeline& pipeline() noexcept { return pipeline_; }
  LiveView& view() noexcept { return view_; }
  std::string url(const std::string& view = "") const {
    return "http://127.0.0.1:" + std::to_string(view_.port()) + "/" +
           (view.empty() ? "" : "#/" + view);
  }
  /// The answer of the API to a token's owner, without the browser.
  nlohmann::json get(const std::string& path, const std::string& token = {}) const {
    return ViewClient(view_, token).json("/api/v1/" + path);
  }

 private:
  std::map<std::string, MovingPictures> pictures_{};
  Pipeline pipeline_;
  LiveView view_;
};

inline const char* const kAdminToken = "admin-token-of-the-tests";
inline const char* const kOperatorToken = "operator-token-of-the-tests";
inline const char* const kViewerToken = "viewer-token-of-the-tests";

inline LiveViewSettings settings_with_tokens() {
  LiveViewSettings settings;
  settings.tokens = {{.name = "ada", .token = kAdminToken, .role = ViewRole::admin},
                     {.name = "otto", .token = kOperatorToken, .role = ViewRole::operator_},
                     {.name = "vera", .token = kViewerToken, .role = ViewRole::viewer}};
  return settings;
}

}  // namespace vcap::test
