// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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
#include "vcap/capsule/stream_parameters.hpp"
#include "vcap/capsule/stream_state.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/node_description.hpp"
#include "vcap/model/option.hpp"
#include "vcap/model/picture_description.hpp"

namespace vcap {

/// A capsule's description: plain data that the author's `info()` gives and the packager writes
/// into the manifest. Thread safety: value.
struct CapsuleInfo {
  std::string name{};  ///< [A-Za-z0-9_]+
  int version = 0;     ///< from 1, higher is newer
  std::string description{};
  NodeDescription input_type{};
  NodeDescription output_type{};
  /// The pictures of other capsules that it needs. It gets them in Frame::pictures, and is not
  /// called for a frame that lacks one.
  std::vector<PictureDescription> takes_pictures{};
  /// The pictures that it gives for every frame, by DetectionNodes::give_picture(). A capsule that
  /// gives pictures may have an output of size none; the nodes that it takes then stay as they are.
  std::vector<PictureDescription> gives_pictures{};
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
  /// Of a stateless capsule: makes of a stream's config what its backends get for each frame of the
  /// stream (parameters_of). Frames still run in parallel, in any order. A stateful capsule reads
  /// the config in its state instead.
  StreamParametersFactory stream_parameters{};
  /// Bounded state: the state after a frame depends only on that frame and on this number of frames
  /// before it, 0 or more. A state that starts this many frames earlier gives the same results, so
  /// stored videos can be cut into slices. Absent: unbounded. Only for stateful capsules.
  std::optional<std::int64_t> warmup{};
  /// Discontinuities at which a stream's state is kept, such as a gap of dropped frames; at all
  /// others a new state is made. Only for stateful capsules; never `start`.
  std::vector<Discontinuity> keeps_state_at{};
  /// How many inputs its backends take at once: the sizes of their batches (BatchPolicy). If the
  /// capsule has no state, also how many frames reach Backend::process_frames together, or, with a
  /// stencil, how many windows reach Backend::process_windows.
  std::optional<BatchSizes> batch{};
  /// The most calls of Backend::process_frame, process_window, process_frames and process_windows
  /// in progress at once, over all streams and backends of a pipeline; at least 1. For a capsule
  /// that takes much memory for each call, or gains nothing from more. Absent: the pipeline chooses
  /// (Pipeline::Settings::max_concurrent_calls). It says nothing about which threads call.
  std::optional<std::size_t> max_concurrent_calls{};
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
/// - an input of size none describes nodes;
/// - the output lists no names, unless the capsule takes nodes, or gives pictures and its size is
///   none;
/// - a picture has a wrong name, type or fixed size, occurs twice, or is given by a capsule that
///   takes single nodes;
/// - a type lists something twice, an attribute without values, or a name that is not UTF-8;
/// - a device set is invalid, or both a device set and a device mapper are given;
/// - a schema is invalid (the message has the JSON pointer), its defaults do not fit it, or nothing
///   uses what it describes;
/// - an encoder has no recognition_threshold of 0 or more;
/// - both stream_state and stream_parameters are given;
/// - keeps_state_at, warmup, batch, max_concurrent_calls or stencil is invalid;
/// - a resource breaks the rules of Resource, or two have the same name.
VCAP_EXPORT void check(const CapsuleInfo& info);

/// Writes what JSON can express: functions as their presence ("stateful") or name
/// ("device_mapper"). from_json gives functions that throw when called. from_json throws
/// InvalidArgument that names the wrong field by its JSON pointer.
VCAP_EXPORT void to_json(nlohmann::json& json, const CapsuleInfo& info);
VCAP_EXPORT void from_json(const nlohmann::json& json, CapsuleInfo& info);

}  // namespace vcap
