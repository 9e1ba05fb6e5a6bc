// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/pictures.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

bool shares_pixels(const cv::Mat& a, const cv::Mat& b) noexcept {
  return a.data == b.data && a.type() == b.type() && a.rows == b.rows && a.cols == b.cols;
}

}  // namespace

void Pictures::set(std::string name, cv::Mat image) {
  const auto place = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
  if (place != entries_.end() && place->name == name)
    place->image = std::move(image);
  else
    entries_.insert(place, Entry{std::move(name), std::move(image)});
}

const cv::Mat* Pictures::find(std::string_view name) const& noexcept {
  for (const Entry& entry : entries_)
    if (entry.name == name) return &entry.image;
  return nullptr;
}

cv::Mat Pictures::at(std::string_view name) const {
  if (const cv::Mat* const found = find(name)) return *found;
  std::string names;
  for (const Entry& entry : entries_) names += (names.empty() ? "" : ", ") + entry.name;
  throw InvalidArgument(
      ErrorCode::invalid_argument,
      "there is no picture " + quote(name) + " here (" + (names.empty() ? "none at all" : names) +
          "); a capsule sees those that its takes_pictures lists, and a record those of its plan");
}

void Pictures::erase(std::string_view name) noexcept {
  std::erase_if(entries_, [name](const Entry& entry) { return entry.name == name; });
}

bool Pictures::operator==(const Pictures& other) const noexcept {
  return std::ranges::equal(entries_, other.entries_, [](const Entry& a, const Entry& b) {
    return a.name == b.name && shares_pixels(a.image, b.image);
  });
}

}  // namespace vcap
