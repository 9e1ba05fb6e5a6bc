// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/device_mapper.hpp"
#include "vcap/capsule/resource.hpp"
#include "vcap/capsule/stream_state.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/node_description.hpp"
#include "vcap/model/option.hpp"

namespace vcap {

/// All that a capsule says of itself: plain data, given by the author's `info()`, written into the
/// manifest by the packager. Thread safety: value.
struct CapsuleInfo {
  std::string name{};  ///< [A-Za-z0-9_]+
  int version = 0;     ///< from 1, higher is newer
  std::string description{};
  NodeDescription input_type{};
  NodeDescription output_type{};
  Options options{};
  DeviceMapper device_mapper{};
  /// Absent: the capsule is stateless and sees frames of one stream in any order, at once.
  StreamStateFactory stream_state{};
  /// Discontinuities that a stream's state outlives, such as a gap of frames that were dropped; at
  /// all others it is made anew. Of stateful capsules alone; never `start`.
  std::vector<Discontinuity> keeps_state_at{};
  /// The distance up to which two encodings are of the same thing; encoders must give it.
  std::optional<double> recognition_threshold{};
  /// Files that are fetched where the capsule is loaded, because they are too large to ship.
  std::vector<Resource> resources{};
};

/// Throws InvalidCapsuleError (invalid_capsule_info), naming the field and the remedy, where the
/// name or version is not allowed, an option is wrongly named or declared, an input of size none
/// describes nodes, the output has no kind of node, a type lists something twice or an attribute
/// without values, an encoder has no recognition_threshold of 0 or more, keeps_state_at is none
/// that can be, or a resource is not as Resource says or has the name of another one.
VCAP_EXPORT void check(const CapsuleInfo& info);

/// What can be written of it: functions as their presence ("stateful") or name
/// ("device_mapper"). from_json gives these back as functions that throw when called.
/// from_json throws InvalidArgument naming the wrong field by its JSON pointer.
VCAP_EXPORT void to_json(nlohmann::json& json, const CapsuleInfo& info);
VCAP_EXPORT void from_json(const nlohmann::json& json, CapsuleInfo& info);

}  // namespace vcap
