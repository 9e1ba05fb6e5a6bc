// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/image/annotator_style.hpp"
#include "vcap/model/detection_node.hpp"
#include "vcap/model/frame.hpp"

namespace vcap {

/// Draws one kind of thing into an image, such as boxes or labels. Hosts may derive their own.
///
///     vcap::Annotators parts;
///     parts.add(std::make_unique<vcap::TrailAnnotator>());
///     parts.add(std::make_unique<vcap::BoxAnnotator>());
///     cv::Mat image = record.frame.image.clone();  // the pixels of a frame are shared
///     parts.annotate(image, record.objects, record.frame);
///
/// Some annotators remember what earlier frames had, such as trails. So each stream needs objects
/// of its own, which get its frames in order. Their memory is bounded. An annotator leaves out a
/// node that has no coords, or a coordinate that is not finite. It draws only within the image.
/// Thread safety: thread-compatible.
class VCAP_EXPORT Annotator {
 public:
  Annotator() = default;
  Annotator(const Annotator&) = delete;
  Annotator& operator=(const Annotator&) = delete;
  virtual ~Annotator();

  /// Draws into the image, which must be the caller's own copy.
  ///
  /// `image`: height × width × 3, 8 bit, BGR. `nodes`: a record's objects (FrameRecord::objects), a
  /// DetectionNodes, or any contiguous sequence of nodes; their coordinates are pixels of the
  /// image. `frame`: to which they belong: its index, time, discontinuity and pictures, not its
  /// image. If annotators remember nothing and draw no pictures, it may be left out.
  /// Throws InvalidArgument if the image is empty or not 8-bit BGR.
  void annotate(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame = {});

  /// Forgets earlier frames. Annotators do so themselves at discontinuities that break what they
  /// show. Does nothing by default.
  virtual void reset();

  /// The names of the pictures of the frame (Frame::pictures) that it draws. None by default.
  virtual std::vector<std::string> pictures() const;

 protected:
  /// As annotate(), which has checked the image. [thread of annotate(), one at a time]
  virtual void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) = 0;
};

/// Draws several annotators over each other, in the order in which they were added. Thread safety:
/// thread-compatible.
class VCAP_EXPORT Annotators final : public Annotator {
 public:
  Annotators() = default;
  ~Annotators() override;

  /// Throws InvalidArgument for null.
  Annotators& add(std::unique_ptr<Annotator> part) &;
  /// Makes a part from its settings, and adds it: parts.add<BoxAnnotator>(…).
  template <class Part, class... Arguments>
  Annotators& add(Arguments&&... arguments) & {
    return add(std::make_unique<Part>(std::forward<Arguments>(arguments)...));
  }

  void reset() override;
  /// Those of all parts, each once, in the order of the names.
  std::vector<std::string> pictures() const override;

 private:
  void draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) override;

  std::vector<std::unique_ptr<Annotator>> parts_;
};

}  // namespace vcap
