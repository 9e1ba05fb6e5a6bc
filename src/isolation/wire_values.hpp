// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "isolation/wire.hpp"
#include "vcap/base/export.hpp"
#include "vcap/base/histogram.hpp"
#include "vcap/batching/batch_sizes.hpp"
#include "vcap/batching/batch_statistics.hpp"
#include "vcap/capsule/backend.hpp"
#include "vcap/capsule/stencil.hpp"
#include "vcap/capsule/stream_state.hpp"
#include "vcap/loading/resources/resource_options.hpp"
#include "vcap/model/detection_nodes.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/option_values.hpp"
#include "vcap/model/pictures.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {

// How the values of calls go over the wire (WireWriter, WireReader). Thread-safe.

/// A FrameWindow as it arrives. Thread safety: value.
struct ReceivedWindow {
  std::vector<Frame> frames{};
  std::vector<DetectionNodes> nodes{};
};

VCAP_EXPORT void wire_fields(WireWriter& wire, const Pictures& pictures);
VCAP_EXPORT void wire_fields(WireReader& wire, Pictures& pictures);
VCAP_EXPORT void wire_fields(WireWriter& wire, const DetectionNodes& nodes);
VCAP_EXPORT void wire_fields(WireReader& wire, DetectionNodes& nodes);
VCAP_EXPORT void wire_fields(WireWriter& wire, const FrameWindow& window);
VCAP_EXPORT void wire_fields(WireReader& wire, ReceivedWindow& window);
VCAP_EXPORT void wire_fields(WireWriter& wire, const OptionValues& values);
/// Reads into values that have the same declaration; throws what OptionValues::set() throws.
VCAP_EXPORT void wire_fields(WireReader& wire, OptionValues& values);
VCAP_EXPORT void wire_fields(WireWriter& wire, const Histogram& histogram);
VCAP_EXPORT void wire_fields(WireReader& wire, Histogram& histogram);

template <class Rep, class Period>
void wire_fields(WireWriter& wire, const std::chrono::duration<Rep, Period>& duration) {
  wire(std::int64_t{duration.count()});
}
template <class Rep, class Period>
void wire_fields(WireReader& wire, std::chrono::duration<Rep, Period>& duration) {
  std::int64_t count = 0;
  wire(count);
  duration = std::chrono::duration<Rep, Period>(count);
}

void wire_fields(auto& wire, Wired<Frame> auto& frame) {
  wire(frame.image, frame.index, frame.pts);
  wire.choice(frame.discontinuity, Discontinuity::loop);
  wire(frame.is_null, frame.pictures, frame.source_file);
}

void wire_fields(auto& wire, Wired<StreamInfo> auto& info) {
  wire(info.id, info.config, info.seed, info.saved, info.saved_by);
}

void wire_fields(auto& wire, Wired<BatchSizes> auto& sizes) {
  wire(sizes.preferred, sizes.maximum);
}

void wire_fields(auto& wire, Wired<Stencil> auto& stencil) {
  wire(stencil.offsets);
  wire.choice(stencil.edge, StencilEdge::error);
}

void wire_fields(auto& wire, Wired<BatchStatistics> auto& statistics) {
  wire(statistics.queued, statistics.running, statistics.accepted, statistics.answered,
       statistics.failed, statistics.dropped, statistics.expired, statistics.cancelled,
       statistics.closed, statistics.rejected, statistics.batch_sizes, statistics.wait_ns,
       statistics.predict_ns);
}

/// All but `wait`.
void wire_fields(auto& wire, Wired<ResourceOptions> auto& options) {
  wire(options.cache, options.mirror, options.offline, options.certificates, options.cache_bytes,
       options.connect_timeout, options.stall_timeout, options.attempts);
}

}  // namespace vcap
