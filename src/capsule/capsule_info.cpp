// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/capsule_info.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/config_schema.hpp"
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
    if (type.size == NodeDescription::Size::none)
      fail("output_type has size none; set it to single or all");
    if (type.detections.empty())
      fail("output_type.detections is empty; list the names of the output nodes");
  }

  void devices() const {
    if (!info_.device_set) return;
    const auto& [kind, count] = *info_.device_set;
    if (!detail::is_identifier(kind))
      fail("device_set has the kind " + quote(kind) +
           "; use letters, digits and underscores, such as GPU");
    if (count < 1)
      fail("device_set has a count of " + std::to_string(count) +
           "; a backend needs 1 device or more");
    if (info_.device_mapper.name() != DeviceMapper().name())
      fail("device_set and the device mapper " + info_.device_mapper.name() +
           " are both given; leave one of them out");
  }

  void schemas() const {
    if (!info_.stream_config_schema.is_null() && !info_.stream_state)
      fail(
          "stream_config_schema is given, but there is no stream_state that could get a config; "
          "leave it out");
    try {
      detail::check_config_schema(info_.config_schema, "config_schema");
      detail::check_config_schema(info_.stream_config_schema, "stream_config_schema");
    } catch (const InvalidArgument& error) {
      fail(error.what());
    }
  }

  void state() const {
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
      if (values.empty()) fail(attribute + " allows no value; list the values that it can have");
      list(attribute, values);
    }
  }

  void list(const std::string& field, const std::vector<std::string>& names) const {
    std::set<std::string_view> seen;
    for (const std::string& name : names) {
      if (name.empty()) fail(field + " lists an empty name; remove it");
      if (!seen.insert(name).second) fail(field + " lists " + quote(name) + " twice; list it once");
    }
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
  checker.devices();
  checker.schemas();
  checker.state();
  checker.operation();
  checker.encoder();
  checker.resources();
}

}  // namespace vcap
