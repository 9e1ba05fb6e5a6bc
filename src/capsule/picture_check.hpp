// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/capsule/output_policy.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/pictures.hpp"

namespace vcap::detail {

/// Whether a frame's picture is as a capsule takes it; `image`: null if there is none. `frame`: the
/// size of the frame. Thread-safe.
VCAP_EXPORT bool is_as_taken(const cv::Mat* image, const PictureDescription& taken,
                             cv::Size frame) noexcept;

/// Holds the pictures that a capsule gives, and those that it is given, against its description.
///
/// Reads no pixels. Checking good pictures allocates nothing. Thread safety: thread-safe.
class VCAP_EXPORT PictureCheck {
 public:
  explicit PictureCheck(const CapsuleInfo& info);

  /// Returns how much of a record the pictures are, by the estimate of OutputPolicy::max_bytes.
  /// `frame`: the size of the frame. Throws Error (invalid_output), which names the capsule, the
  /// picture, what it is, what is declared and the nearest declared name. If the policy says
  /// `warn`, sets `warning` to the text of the first fault that can be kept, unless it has a text,
  /// and throws only for others. With `off`, checks nothing, and returns 0.
  std::size_t check(const Pictures& given, cv::Size frame, const OutputPolicy& policy,
                    std::string& warning) const;

  /// Throws InvalidArgument if the frame lacks a picture that the capsule takes, or has it in
  /// another type or size.
  void require(const Frame& frame) const;

 private:
  class Walk;

  const PictureDescription* find(std::string_view name) const noexcept;
  [[noreturn]] void refuse(const PictureDescription& picture, const Frame& frame,
                           const std::string& complaint) const;

  const std::string capsule_;
  const std::vector<PictureDescription> taken_;
  const std::vector<PictureDescription> given_;
};

}  // namespace vcap::detail
