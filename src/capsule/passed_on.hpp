// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vcap::detail {

/// What nodes that a capsule was given have, and its own description does not list: other capsules
/// have added it, and the capsule may give it back. For one call, or for all calls that share a
/// stream state, since a tracker may give a node again that it got frames ago.
///
/// Thread safety: thread-compatible.
class PassedOn {
 public:
  void add_name(std::string_view name) { names_.add(name, {}); }
  void add_attribute(std::string_view category, std::string_view value) {
    attributes_.add(category, value);
  }
  void add_keypoint(std::string_view name) { keypoints_.add(name, {}); }
  void add_track() noexcept { tracked_ = true; }
  void add_encoding() noexcept { encoded_ = true; }

  bool has_name(std::string_view name) const noexcept { return names_.has(name, {}); }
  bool has_attribute(std::string_view category, std::string_view value) const noexcept {
    return attributes_.has(category, value);
  }
  bool has_keypoint(std::string_view name) const noexcept { return keypoints_.has(name, {}); }
  bool has_track() const noexcept { return tracked_; }
  bool has_encoding() const noexcept { return encoded_; }

 private:
  /// Pairs of texts. Capsules give each other few and short ones, so that a search in order is the
  /// quickest. If there are more or longer ones, all others count as passed on too, so that memory
  /// and time are bounded.
  class Pairs {
   public:
    void add(std::string_view first, std::string_view second) {
      if (has(first, second)) return;
      if (pairs_.size() < kMost && first.size() + second.size() <= kLongest)
        pairs_.emplace_back(first, second);
      else
        is_full_ = true;
    }
    bool has(std::string_view first, std::string_view second) const noexcept {
      if (is_full_) return true;
      for (const auto& pair : pairs_)
        if (pair.first == first && pair.second == second) return true;
      return false;
    }

   private:
    static constexpr std::size_t kMost = 256;
    static constexpr std::size_t kLongest = 1024;  ///< bytes of both
    std::vector<std::pair<std::string, std::string>> pairs_{};
    bool is_full_ = false;
  };

  Pairs names_{}, attributes_{}, keypoints_{};
  bool tracked_ = false, encoded_ = false;
};

}  // namespace vcap::detail
