// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "vcap/algorithms/track_association.hpp"

namespace vcap {

/// Throws InvalidArgument naming the setting that is outside its range.
void check_association(const AssociationSettings& settings);

/// Throws InvalidArgument naming the first track or detection with an encoding of another number of
/// elements than those before it, or with one that has no direction.
void check_encodings(std::span<const TrackView> tracks,
                     std::span<const TrackedDetection> detections);

}  // namespace vcap
