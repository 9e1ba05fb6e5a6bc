// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::bench {

/// view.2: the 95th percentile of the milliseconds from the push of a frame to its pixels on the
/// canvas of the page, in headless Chromium (Debian's packages chromium and chromium-driver).
/// Frames have their time as a pattern, which the page's script reads back.
double milliseconds_to_pixels();

}  // namespace vcap::bench
