// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/recorded_frames.hpp"

namespace vcap {

RecordedFrames::~RecordedFrames() = default;

}  // namespace vcap
