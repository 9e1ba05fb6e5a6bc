// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "vcap/algorithms/track_association.hpp"

namespace vcap {

/// Throws InvalidArgument that names the setting that is outside its range.
void check_association(const AssociationSettings& settings);

/// Throws InvalidArgument that names the first track or detection whose encoding has no direction,
/// or another number of elements than the encodings before it.
void check_encodings(std::span<const TrackView> tracks,
                     std::span<const TrackedDetection> detections);

}  // namespace vcap
