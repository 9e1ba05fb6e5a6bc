// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "sources/live_clock.hpp"
#include "sources/webcam_driver.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// A camera of this machine, live. Throws SourceError, which lists the webcams if there is no such
/// index, and InvalidArgument.
std::unique_ptr<Source> open_webcam(
    int index, const SourceOptions& options,
    std::shared_ptr<const WebcamDriver> driver = make_webcam_driver(),
    std::unique_ptr<LiveClock> clock = nullptr);

}  // namespace vcap
