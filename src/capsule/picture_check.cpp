// SPDX-License-Identifier: Apache-2.0
#include "capsule/picture_check.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap::detail {
namespace {

/// About what JSON needs for a picture in a record, beside its name.
constexpr std::size_t kPictureBytes = 64;

std::string extent_text(cv::Size size) {
  return std::to_string(size.width) + " × " + std::to_string(size.height);
}

std::size_t bytes_of(const cv::Mat& image) noexcept { return image.total() * image.elemSize(); }

/// Not for PictureSize::any.
cv::Size size_for(const PictureDescription& picture, cv::Size frame) noexcept {
  return picture.size == PictureSize::fixed ? picture.fixed_size : frame;
}

std::vector<std::string_view> names_of(const std::vector<PictureDescription>& pictures) {
  std::vector<std::string_view> names;
  names.reserve(pictures.size());
  for (const PictureDescription& picture : pictures) names.emplace_back(picture.name);
  return names;
}

}  // namespace

bool is_as_taken(const cv::Mat* image, const PictureDescription& taken, cv::Size frame) noexcept {
  return image != nullptr && !image->empty() && image->dims <= 2 && image->type() == taken.type &&
         (taken.size == PictureSize::any || image->size() == size_for(taken, frame));
}

/// Goes through the pictures of one output. Messages are made only for faults.
class PictureCheck::Walk {
 public:
  Walk(const PictureCheck& check, cv::Size frame, const OutputPolicy& policy, std::string& warning)
      : check_(check), frame_(frame), policy_(policy), warning_(warning) {}

  std::size_t run(const Pictures& given) {
    std::size_t pixels = 0;
    std::size_t bytes = 0;
    for (const auto& [name, image] : given) {
      check_pixels(name, image);
      check_description(name, image);
      pixels += bytes_of(image);
      bytes += name.size() + kPictureBytes;
      if (pixels > policy_.max_picture_bytes)
        refuse(name, "with it, the pictures of this frame have " + std::to_string(pixels) +
                         " bytes; the host allows " + std::to_string(policy_.max_picture_bytes) +
                         " (OutputPolicy::max_picture_bytes): give smaller ones, or have the host "
                         "raise it");
      if (bytes > policy_.max_bytes)
        refuse(name, "with it, there are " + std::to_string(given.size()) +
                         " pictures, whose description is larger than the " +
                         std::to_string(policy_.max_bytes) +
                         " bytes that the host allows (OutputPolicy::max_bytes): give fewer");
    }
    for (const PictureDescription& declared : check_.given_)
      if (!given.contains(declared.name)) [[unlikely]]
        complain(declared.name,
                 "it is missing, and gives_pictures declares it for every frame; the output has " +
                     names(given));
    return bytes;
  }

 private:
  static std::string names(const Pictures& given) {
    std::vector<std::string_view> list;
    for (const auto& [name, image] : given) list.emplace_back(name);
    return quote_list(list);
  }

  /// What no later capsule or sink could use.
  void check_pixels(const std::string& name, const cv::Mat& image) {
    if (image.dims > 2)
      refuse(name, "it has " + std::to_string(image.dims) + " dimensions; give a picture with 2");
    if (image.empty()) refuse(name, "it is empty; give a picture with pixels");
    if (image.u == nullptr)
      refuse(name,
             "it does not own its pixels, which could be freed while others use them; give a "
             "clone()");
  }

  void check_description(const std::string& name, const cv::Mat& image) {
    const PictureDescription* const declared = check_.find(name);
    if (declared == nullptr) [[unlikely]] {
      const std::vector<std::string_view> known = names_of(check_.given_);
      return complain(name, "it is not declared; gives_pictures are " + quote_list(known) +
                                suggestion(name, known));
    }
    if (image.type() != declared->type) [[unlikely]]
      complain(name, "its type is " + picture_type_text(image.type()) +
                         ", which is not the declared " + picture_type_text(declared->type));
    if (declared->size == PictureSize::any) return;
    const cv::Size wanted = size_for(*declared, frame_);
    if (image.size() != wanted) [[unlikely]]
      complain(name, "its size is " + extent_text(image.size()) + " pixels; the declared one is " +
                         (declared->size == PictureSize::frame ? "that of the frame, " : "") +
                         extent_text(wanted));
  }

  std::string text(const std::string& name, const std::string& complaint) const {
    return bounded_text("capsule " + check_.capsule_ + ", picture " + quote(name) +
                        " of its output: " + complaint);
  }
  [[noreturn]] void refuse(const std::string& name, const std::string& complaint) const {
    throw Error(ErrorCode::invalid_output, text(name, complaint));
  }
  /// Returns if the fault is kept.
  void complain(const std::string& name, const std::string& complaint) {
    if (policy_.invalid == InvalidOutput::error) refuse(name, complaint);
    if (warning_.empty()) warning_ = text(name, complaint);
  }

  const PictureCheck& check_;
  const cv::Size frame_;
  const OutputPolicy& policy_;
  std::string& warning_;
};

PictureCheck::PictureCheck(const CapsuleInfo& info)
    : capsule_(info.name), taken_(info.takes_pictures), given_(info.gives_pictures) {}

const PictureDescription* PictureCheck::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(given_, name, &PictureDescription::name);
  return found != given_.end() ? &*found : nullptr;
}

std::size_t PictureCheck::check(const Pictures& given, cv::Size frame, const OutputPolicy& policy,
                                std::string& warning) const {
  if (policy.invalid == InvalidOutput::off || (given.empty() && given_.empty())) return 0;
  return Walk(*this, frame, policy, warning).run(given);
}

void PictureCheck::require(const Frame& frame) const {
  for (const PictureDescription& picture : taken_) {
    const cv::Mat* const image = frame.pictures.find(picture.name);
    if (is_as_taken(image, picture, frame.image.size())) continue;
    if (image == nullptr)
      refuse(picture, frame,
             "has none of that name; set it in Frame::pictures, or run the capsule in a pipeline "
             "with one that gives it");
    if (image->empty() || image->dims > 2)
      refuse(picture, frame, "has an empty one, or one that has not 2 dimensions");
    if (image->type() != picture.type)
      refuse(picture, frame,
             "has one of type " + picture_type_text(image->type()) + "; convert it, or give " +
                 picture_type_text(picture.type));
    refuse(picture, frame,
           "of " + extent_text(frame.image.size()) + " pixels has one of " +
               extent_text(image->size()) + "; resize it");
  }
}

void PictureCheck::refuse(const PictureDescription& picture, const Frame& frame,
                          const std::string& complaint) const {
  throw InvalidArgument(ErrorCode::invalid_argument,
                        "capsule " + capsule_ + " takes picture " + to_string(picture) +
                            ", and frame " + std::to_string(frame.index) + " " + complaint);
}

}  // namespace vcap::detail
