// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/backend.hpp"

#include "vcap/base/error.hpp"

namespace vcap {

Backend::~Backend() = default;

void Backend::setup_with_resources(const CapsuleFiles&) {}

void Backend::set_batch_sizes(const BatchSizes&) {}

// Those who override it move from their nodes. NOLINTNEXTLINE(performance-unnecessary-value-param)
DetectionNodes Backend::process_frame(const Frame&, DetectionNodes, const OptionValues&,
                                      BaseStreamState&) {
  throw Error(ErrorCode::misbehaving_capsule,
              "its backend overrides neither process_frame nor, for a stencil, process_window");
}

std::optional<std::vector<DetectionNodes>> Backend::process_frames(std::span<const Frame>,
                                                                   std::span<DetectionNodes>,
                                                                   const OptionValues&,
                                                                   BaseStreamState&) {
  return {};
}

DetectionNodes Backend::process_window(std::span<const Frame>, std::span<DetectionNodes>,
                                       const OptionValues&, BaseStreamState&) {
  throw Error(ErrorCode::misbehaving_capsule,
              "it declares a stencil, and its backend does not override process_window");
}

std::optional<std::vector<DetectionNodes>> Backend::process_windows(std::span<const FrameWindow>,
                                                                    const OptionValues&,
                                                                    BaseStreamState&) {
  return {};
}

std::vector<float> Backend::distances(std::span<const float>,
                                      std::span<const std::vector<float>>) const {
  throw InvalidArgument(
      ErrorCode::invalid_argument,
      "this backend does not compare encodings: a capsule whose output is encoded "
      "must override Backend::distances()");
}

double Backend::workload() const noexcept { return 0; }

std::optional<BatchStatistics> Backend::batch_statistics() const { return {}; }

void Backend::drain() {}

void Backend::close() noexcept {}

}  // namespace vcap
