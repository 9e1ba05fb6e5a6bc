// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// A bright BGR colour derived from the text: the same one in every run and on every machine. It
/// comes from the text's 64-bit FNV-1a hash (G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, "The FNV
/// Non-Cryptographic Hash Algorithm", IETF draft-eastlake-fnv). Thread-safe.
VCAP_EXPORT cv::Scalar stable_color(std::string_view text) noexcept;

}  // namespace vcap
