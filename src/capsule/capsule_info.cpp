// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/capsule_info.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/config_schema.hpp"
#include "capsule/device_sets.hpp"
#include "capsule/resource_check.hpp"
#include "capsule/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Checks one capsule's description; every message names the capsule first.
class Checker {
 public:
  explicit Checker(const CapsuleInfo& info) : info_(info) {}

  void identity() const {
    if (!detail::is_identifier(info_.name))
      throw InvalidCapsuleError(
          ErrorCode::invalid_capsule_info,
          "name " + quote(info_.name) +
              " of a capsule: use letters A-Z and a-z, digits and underscores, "
              "at least one");
    if (info_.version < 1)
      fail("version " + std::to_string(info_.version) + " is not allowed; count versions from 1");
  }

  void options() const {
    for (const auto& [name, option] : info_.options) {
      if (!detail::is_identifier(name))
        fail("option name " + quote(name) + ": use letters, digits and underscores, at least one");
      try {
        check_declaration(option, "option " + quote(name) + " of capsule " + info_.name);
      } catch (const OptionError& error) {
        throw InvalidCapsuleError(ErrorCode::invalid_capsule_info, error.what());
      }
    }
  }

  void input() const {
    lists("input_type", info_.input_type);
    NodeDescription asks_nothing;
    if (info_.input_type.size == NodeDescription::Size::none && info_.input_type != asks_nothing)
      fail(
          "input_type describes nodes but has size none; set size to single or all, or describe "
          "nothing");
  }

  void output() const {
    const NodeDescription& type = info_.output_type;
    lists("output_type", type);
    if (type.size == NodeDescription::Size::none) {
      if (info_.gives_pictures.empty())
        fail("output_type has size none; set it to single or all, or give pictures");
      if (type != NodeDescription{})
        fail(
            "output_type describes nodes but has size none; set size to single or all, or describe "
            "nothing");
      return;
    }
    if (type.detections.empty() && info_.input_type.size == NodeDescription::Size::none)
      fail(
          "output_type.detections is empty; list the names of the output nodes. Only a capsule "
          "that takes nodes may leave them out: its nodes then keep their names");
  }

  void pictures() const {
    std::set<std::string_view> names;
    list("takes_pictures", info_.takes_pictures, names);
    list("gives_pictures", info_.gives_pictures, names);
    if (!info_.gives_pictures.empty() && info_.input_type.size == NodeDescription::Size::single)
      fail(
          "gives_pictures is given, but input_type has size single: it is called once for each "
          "node, and a frame has one picture of a name; set the size to none or all");
  }

  void devices() const {
    if (!info_.device_set) return;
    if (const std::string fault = detail::device_set_fault(*info_.device_set); !fault.empty())
      fail("device_set " + fault);
    if (info_.device_mapper.name() != DeviceMapper().name())
      fail("device_set and the device mapper " + info_.device_mapper.name() +
           " are both given; leave one of them out");
  }

  void schemas() const {
    if (!info_.stream_config_schema.is_null() && !info_.stream_state && !info_.stream_parameters)
      fail(
          "stream_config_schema is given, but there is no stream_state that could get a config, "
          "and no stream_parameters; give one of these, or leave the schema out");
    try {
      detail::check_config_schema(info_.config_schema, "config_schema");
      detail::check_config_schema(info_.stream_config_schema, "stream_config_schema");
    } catch (const InvalidArgument& error) {
      fail(error.what());
    }
  }

  void state() const {
    if (info_.stream_parameters && info_.stream_state)
      fail(
          "stream_parameters and stream_state are both given; a stateful capsule reads its config "
          "from StreamInfo::config when its state is made, so leave stream_parameters out");
    if (!info_.keeps_state_at.empty() && !info_.stream_state)
      fail("keeps_state_at is given, but there is no stream_state to keep; leave it out");
    std::set<Discontinuity> seen;
    for (const Discontinuity at : info_.keeps_state_at) {
      if (at == Discontinuity::none || at == Discontinuity::start)
        fail("keeps_state_at lists " + std::string(to_string(at)) +
             "; a state can be kept at gap, seek, reconnect and loop");
      if (!seen.insert(at).second)
        fail("keeps_state_at lists " + std::string(to_string(at)) + " twice");
    }
  }

  void operation() const {
    if (info_.warmup && !info_.stream_state)
      fail("warmup is given, but there is no stream_state; leave it out");
    if (info_.warmup && *info_.warmup < 0)
      fail("warmup " + std::to_string(*info_.warmup) + " is not 0 or more frames");
    if (const auto& batch = info_.batch;
        batch && batch->maximum < std::max<std::size_t>(batch->preferred, 1))
      fail("batch.maximum " + std::to_string(batch->maximum) +
           " is not at least 1 and at least batch.preferred (" + std::to_string(batch->preferred) +
           ")");
    if (info_.max_concurrent_calls == 0)
      fail("max_concurrent_calls 0 is not at least 1; leave it out for no bound of the capsule");
    if (info_.stencil) stencil(*info_.stencil);
  }

  void encoder() const {
    const std::optional<double>& threshold = info_.recognition_threshold;
    const bool encodes = info_.output_type.encoded && !info_.input_type.encoded;
    if (encodes && !threshold)
      fail(
          "output_type is encoded but recognition_threshold is absent; give the largest "
          "distance between two encodings of the same thing");
    if (threshold && !(std::isfinite(*threshold) && *threshold >= 0))
      fail("recognition_threshold " + std::to_string(*threshold) +
           " is not allowed; give a finite distance of 0 or more");
  }

  void resources() const {
    std::set<std::string_view> names;
    for (const Resource& resource : info_.resources) {
      if (const std::string fault = resource_fault(resource); !fault.empty())
        fail("resource " + quote(resource.name) + ": " + fault);
      if (!names.insert(resource.name).second)
        fail("resource " + quote(resource.name) + " occurs twice; give each resource its own name");
    }
  }

 private:
  /// `names`: those of the pictures before.
  void list(const std::string& field, const std::vector<PictureDescription>& pictures,
            std::set<std::string_view>& names) const {
    for (const PictureDescription& picture : pictures) {
      if (!detail::is_identifier(picture.name))
        fail(field + " has the name " + quote(picture.name) +
             "; use letters, digits and underscores, at least one");
      const std::string which = field + ", picture " + quote(picture.name) + ": ";
      if (!names.insert(picture.name).second)
        fail(which +
             "the name occurs twice among the pictures that the capsule takes and gives; give "
             "each its own name");
      if (picture.type != CV_MAT_TYPE(picture.type))
        fail(which + "type " + std::to_string(picture.type) +
             " is none of OpenCV's; give one such as CV_8UC3");
      const cv::Size& size = picture.fixed_size;
      const bool is_fixed = picture.size == PictureSize::fixed;
      if (is_fixed ? size.width < 1 || size.height < 1 : size != cv::Size())
        fail(which + "fixed_size is " + std::to_string(size.width) + " × " +
             std::to_string(size.height) + " and size is " + std::string(to_string(picture.size)) +
             "; give a width and height of at least 1 if size is fixed, and none otherwise");
    }
  }

  void stencil(const Stencil& stencil) const {
    constexpr int kFarthest = 1000;
    if (stencil.offsets.empty())
      fail("stencil has no offsets; list those of the frames that it needs, such as {-1, 0}");
    std::set<int> seen;
    for (const int offset : stencil.offsets) {
      if (std::abs(offset) > kFarthest)
        fail("stencil offset " + std::to_string(offset) + " is not within -1000 to 1000");
      if (!seen.insert(offset).second)
        fail("stencil lists offset " + std::to_string(offset) + " twice; list each once");
    }
    if (!info_.takes_pictures.empty() && !seen.contains(0))
      fail(
          "stencil lacks offset 0, but the capsule takes pictures, which the present frame must "
          "have; add 0");
    if (info_.input_type.size != NodeDescription::Size::none && !seen.contains(0))
      fail(
          "stencil lacks offset 0, but the capsule takes nodes; its result replaces the nodes at "
          "offset 0; add 0");
  }

  void lists(const std::string& field, const NodeDescription& type) const {
    list(field + ".detections", type.detections);
    list(field + ".keypoints", type.keypoints);
    list(field + ".extra_data", type.extra_data);
    for (const auto& [category, values] : type.attributes) {
      const std::string attribute = field + ".attributes[" + quote(category) + "]";
      if (category.empty()) fail(attribute + " has an empty name; give the attribute a name");
      text(attribute, category);
      if (values.empty()) fail(attribute + " allows no value; list the values that it can have");
      list(attribute, values);
    }
  }

  void list(const std::string& field, const std::vector<std::string>& names) const {
    std::set<std::string_view> seen;
    for (const std::string& name : names) {
      if (name.empty()) fail(field + " lists an empty name; remove it");
      text(field, name);
      if (!seen.insert(name).second) fail(field + " lists " + quote(name) + " twice; list it once");
    }
  }

  /// Names are keys of JSON, in the manifest and in records.
  void text(const std::string& field, const std::string& name) const {
    if (find_invalid_utf8(name) != std::string_view::npos)
      fail(field + ": the name " + quote(name) + " is not UTF-8; write it in UTF-8");
  }

  [[noreturn]] void fail(const std::string& complaint) const {
    throw InvalidCapsuleError(ErrorCode::invalid_capsule_info,
                              "capsule " + info_.name + ": " + complaint);
  }

  const CapsuleInfo& info_;
};

}  // namespace

void check(const CapsuleInfo& info) {
  const Checker checker(info);
  checker.identity();
  checker.options();
  checker.input();
  checker.output();
  checker.pictures();
  checker.devices();
  checker.schemas();
  checker.state();
  checker.operation();
  checker.encoder();
  checker.resources();
}

}  // namespace vcap
