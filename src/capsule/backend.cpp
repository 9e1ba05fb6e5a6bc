// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/backend.hpp"

#include "vcap/base/error.hpp"

namespace vcap {

Backend::~Backend() = default;

void Backend::setup_with_resources(const CapsuleFiles&) {}

std::vector<float> Backend::distances(std::span<const float>,
                                      std::span<const std::vector<float>>) const {
  throw InvalidArgument(
      ErrorCode::invalid_argument,
      "this backend does not compare encodings: a capsule whose output is encoded "
      "overrides Backend::distances()");
}

double Backend::workload() const noexcept { return 0; }

std::optional<BatchStatistics> Backend::batch_statistics() const { return {}; }

void Backend::drain() {}

void Backend::close() noexcept {}

}  // namespace vcap
