// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/batching/batch_sizes.hpp"
#include "vcap/capsule/device_mapper.hpp"
#include "vcap/capsule/resource.hpp"
#include "vcap/capsule/stencil.hpp"
#include "vcap/capsule/stream_state.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/node_description.hpp"
#include "vcap/model/option.hpp"

namespace vcap {

/// A capsule's description: plain data that the author's `info()` gives and the packager writes
/// into the manifest. Thread safety: value.
struct CapsuleInfo {
  std::string name{};  ///< [A-Za-z0-9_]+
  int version = 0;     ///< from 1, higher is newer
  std::string description{};
  NodeDescription input_type{};
  NodeDescription output_type{};
  Options options{};
  DeviceMapper device_mapper{};
  /// The devices that one backend needs; replaces the device mapper.
  std::optional<DeviceSet> device_set{};
  /// JSON Schemas (draft 7, docs/writing-a-capsule.md) of the config given at load and of a
  /// stream's config; null: any object is allowed.
  JsonValue config_schema{};
  JsonValue stream_config_schema{};
  /// Absent: the capsule is stateless and sees frames of one stream in any order, concurrently.
  StreamStateFactory stream_state{};
  /// Bounded state: the state after a frame depends only on that frame and on this number of frames
  /// before it, 0 or more. A state that starts this many frames earlier gives the same results, so
  /// stored videos can be cut into slices. Absent: unbounded. Only for stateful capsules.
  std::optional<std::int64_t> warmup{};
  /// Discontinuities at which a stream's state is kept, such as a gap of dropped frames; at all
  /// others a new state is made. Only for stateful capsules; never `start`.
  std::vector<Discontinuity> keeps_state_at{};
  /// How many inputs its backends take at once: the sizes of their batches (BatchPolicy). If the
  /// capsule has no state and no stencil, also how many frames reach Backend::process_frames
  /// together.
  std::optional<BatchSizes> batch{};
  /// The frames that Backend::process_window sees together.
  std::optional<Stencil> stencil{};
  /// The largest distance between two encodings of the same thing; required for encoders.
  std::optional<double> recognition_threshold{};
  /// Files that are too large to ship; they are fetched when the capsule is loaded.
  std::vector<Resource> resources{};
};

/// Throws InvalidCapsuleError (invalid_capsule_info), which names the field and the remedy, if
/// - the name or version is not allowed;
/// - an option has a wrong name or declaration;
/// - an input of size none describes nodes, or the output has no kind of node;
/// - a type lists something twice, or an attribute without values;
/// - a device set is invalid, or both a device set and a device mapper are given;
/// - a schema is invalid (the message has the JSON pointer), its defaults do not fit it, or nothing
///   uses what it describes;
/// - an encoder has no recognition_threshold of 0 or more;
/// - keeps_state_at, warmup, batch or stencil is invalid;
/// - a resource breaks the rules of Resource, or two have the same name.
VCAP_EXPORT void check(const CapsuleInfo& info);

/// Writes what JSON can express: functions as their presence ("stateful") or name
/// ("device_mapper"). from_json gives functions that throw when called. from_json throws
/// InvalidArgument that names the wrong field by its JSON pointer.
VCAP_EXPORT void to_json(nlohmann::json& json, const CapsuleInfo& info);
VCAP_EXPORT void from_json(const nlohmann::json& json, CapsuleInfo& info);

}  // namespace vcap
