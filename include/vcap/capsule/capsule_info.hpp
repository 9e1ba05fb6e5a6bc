// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/batching/batch_policy.hpp"
#include "vcap/capsule/device_mapper.hpp"
#include "vcap/capsule/resource.hpp"
#include "vcap/capsule/stencil.hpp"
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
  /// What one backend needs, in place of a device mapper.
  std::optional<DeviceSet> device_set{};
  /// JSON Schemas (draft 7, docs/writing-a-capsule.md) of the config given at load and of a
  /// stream's config; null: any object is taken.
  nlohmann::json config_schema{};
  nlohmann::json stream_config_schema{};
  /// Absent: the capsule is stateless and sees frames of one stream in any order, at once.
  StreamStateFactory stream_state{};
  /// Bounded state: what it is after a frame depends on that frame and on so many before it alone,
  /// 0 or more. One that was made so many frames earlier then gives the same results, and stored
  /// videos can be cut into slices. Absent: unbounded. Of stateful capsules alone.
  std::optional<std::int64_t> warmup{};
  /// Discontinuities that a stream's state outlives, such as a gap of frames that were dropped; at
  /// all others it is made anew. Of stateful capsules alone; never `start`.
  std::vector<Discontinuity> keeps_state_at{};
  /// How many inputs its backends take at once: the sizes of their batches (BatchPolicy), and, of a
  /// capsule without state or stencil, how many frames come to Backend::process_frames together.
  std::optional<BatchSizes> batch{};
  /// The frames that it sees together, in Backend::process_window.
  std::optional<Stencil> stencil{};
  /// The distance up to which two encodings are of the same thing; encoders must give it.
  std::optional<double> recognition_threshold{};
  /// Files that are fetched where the capsule is loaded, because they are too large to ship.
  std::vector<Resource> resources{};
};

/// Throws InvalidCapsuleError (invalid_capsule_info), naming the field and the remedy, where the
/// name or version is not allowed, an option is wrongly named or declared, an input of size none
/// describes nodes, the output has no kind of node, a type lists something twice or an attribute
/// without values, a device set is none or stands beside a device mapper, a schema is none (its
/// place told by a JSON pointer), its defaults do not fit it or nobody gets what it describes, an
/// encoder has no recognition_threshold of 0 or more, keeps_state_at, warmup, batch or stencil is
/// none that can be, or a resource is not as Resource says or has the name of another one.
VCAP_EXPORT void check(const CapsuleInfo& info);

/// What can be written of it: functions as their presence ("stateful") or name
/// ("device_mapper"). from_json gives these back as functions that throw when called.
/// from_json throws InvalidArgument naming the wrong field by its JSON pointer.
VCAP_EXPORT void to_json(nlohmann::json& json, const CapsuleInfo& info);
VCAP_EXPORT void from_json(const nlohmann::json& json, CapsuleInfo& info);

}  // namespace vcap
