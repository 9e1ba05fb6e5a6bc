// SPDX-License-Identifier: Apache-2.0
#pragma once

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

VCAP_EXPORT void wire_fields(WireWriter& wire, const Frame& frame);
VCAP_EXPORT void wire_fields(WireReader& wire, Frame& frame);
VCAP_EXPORT void wire_fields(WireWriter& wire, const Pictures& pictures);
VCAP_EXPORT void wire_fields(WireReader& wire, Pictures& pictures);
VCAP_EXPORT void wire_fields(WireWriter& wire, const DetectionNodes& nodes);
VCAP_EXPORT void wire_fields(WireReader& wire, DetectionNodes& nodes);
VCAP_EXPORT void wire_fields(WireWriter& wire, const FrameWindow& window);
VCAP_EXPORT void wire_fields(WireReader& wire, ReceivedWindow& window);
VCAP_EXPORT void wire_fields(WireWriter& wire, const OptionValues& values);
/// Reads into values that have the same declaration; throws what OptionValues::set() throws.
VCAP_EXPORT void wire_fields(WireReader& wire, OptionValues& values);
VCAP_EXPORT void wire_fields(WireWriter& wire, const StreamInfo& info);
VCAP_EXPORT void wire_fields(WireReader& wire, StreamInfo& info);
VCAP_EXPORT void wire_fields(WireWriter& wire, const BatchSizes& sizes);
VCAP_EXPORT void wire_fields(WireReader& wire, BatchSizes& sizes);
VCAP_EXPORT void wire_fields(WireWriter& wire, const Stencil& stencil);
VCAP_EXPORT void wire_fields(WireReader& wire, Stencil& stencil);
VCAP_EXPORT void wire_fields(WireWriter& wire, const Histogram& histogram);
VCAP_EXPORT void wire_fields(WireReader& wire, Histogram& histogram);
VCAP_EXPORT void wire_fields(WireWriter& wire, const BatchStatistics& statistics);
VCAP_EXPORT void wire_fields(WireReader& wire, BatchStatistics& statistics);
/// All but `wait`.
VCAP_EXPORT void wire_fields(WireWriter& wire, const ResourceOptions& options);
VCAP_EXPORT void wire_fields(WireReader& wire, ResourceOptions& options);

}  // namespace vcap
