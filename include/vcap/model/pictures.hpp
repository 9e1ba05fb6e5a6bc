// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// The pictures of a frame by their names, in the order of the names.
///
/// Copies share the pixels; code must not write into the pixels of a picture that it was given or
/// has given. Thread safety: value.
class VCAP_EXPORT Pictures {
 public:
  /// A picture and its name. Thread safety: value.
  struct Entry {
    std::string name{};
    cv::Mat image{};
  };
  using const_iterator = std::vector<Entry>::const_iterator;

  Pictures() = default;

  /// Adds a picture, or replaces the one of that name. Shares the pixels.
  void set(std::string name, cv::Mat image);
  /// Null if there is none of that name.
  const cv::Mat* find(std::string_view name) const& noexcept;
  const cv::Mat* find(std::string_view name) const&& = delete;  // would point into a temporary
  /// The picture, which shares its pixels. Throws InvalidArgument, which lists the names that there
  /// are.
  cv::Mat at(std::string_view name) const;
  bool contains(std::string_view name) const& noexcept { return find(name) != nullptr; }
  /// Removes the picture of that name, if there is one.
  void erase(std::string_view name) noexcept;

  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  const_iterator begin() const& noexcept { return entries_.begin(); }
  const_iterator end() const& noexcept { return entries_.end(); }
  const_iterator begin() const&& = delete;  // would point into a temporary
  const_iterator end() const&& = delete;

  /// Whether both have the same names, and the pictures of each name share their pixels.
  bool operator==(const Pictures& other) const noexcept;

 private:
  std::vector<Entry> entries_{};
};

}  // namespace vcap
