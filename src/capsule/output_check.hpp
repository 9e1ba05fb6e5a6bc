// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capsule/levels.hpp"
#include "capsule/passed_on.hpp"
#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/capsule/output_policy.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap::detail {

/// How much of a record some nodes are. Thread safety: value.
struct NodesSize {
  std::size_t nodes = 0;   ///< children included
  std::size_t bytes = 0;   ///< by the estimate of OutputPolicy::max_bytes
  std::size_t levels = 0;  ///< of nodes; 0 if there are none

  bool operator==(const NodesSize&) const = default;
};

/// Measures nodes of at most kMostLevels levels. Thread-safe.
VCAP_EXPORT NodesSize size_of(std::span<const DetectionNode> nodes);

/// Checks a capsule's output against its description.
///
/// A node may have what the description lists, and what the nodes that the capsule was given have
/// (PassedOn). If the description lists a single name, each node of that name must have everything
/// that it lists, except keypoints; of a capsule that takes nodes, only those in the first level.
/// The same holds for all nodes of that level if it lists no name, since their names are those of
/// the nodes that the capsule was given. If it lists several, it does not say which of them has
/// what. Checking good output allocates nothing. Thread safety: thread-safe.
class VCAP_EXPORT OutputCheck {
 public:
  explicit OutputCheck(const CapsuleInfo& info);

  /// Adds what nodes that the capsule is given have beyond the description.
  void note(const DetectionNodes& given, PassedOn& passed_on) const;

  /// Returns the size of the output. Throws Error (invalid_output), which names the capsule, the
  /// node, the value, what is declared and the nearest declared name. If the policy says `warn`,
  /// sets `warning` to the text of the first fault that can be kept, and throws only for others.
  /// With `off`, checks only that there are not too many levels, and returns zeros.
  NodesSize check(const DetectionNodes& output, const PassedOn& passed_on,
                  const OutputPolicy& policy, std::string& warning) const;

 private:
  class Walk;

  /// Texts to look for; sorted, without repetitions.
  class Words {
   public:
    Words() = default;
    explicit Words(std::vector<std::string> words);
    bool has(std::string_view word) const noexcept;
    bool empty() const noexcept { return words_.empty(); }
    const std::vector<std::string>& list() const noexcept { return words_; }

   private:
    std::vector<std::string> words_{};
  };
  /// The attributes in the order of std::map, which nodes have too.
  struct Category {
    std::string name;
    Words values;
  };

  bool is_keypoint(std::string_view name, std::size_t place) const noexcept;
  void note(std::span<const DetectionNode> given, PassedOn& passed_on, std::size_t level) const;

  const std::string capsule_;
  Words names_;
  std::vector<Category> categories_{};
  std::vector<std::string> keypoints_;  ///< in the declared order, which nodes mostly have
  Words sorted_keypoints_;
  std::vector<std::string> keys_;  ///< of extra data
  const bool tracked_;
  const bool encoded_;
  const bool is_nameless_;  ///< names are those of the nodes that it was given
  const bool is_complete_;  ///< each node has everything: there is at most one name
  const bool takes_nodes_;
};

/// Destroys nodes of any number of levels. Their destructor calls itself for each level, which
/// exhausts the stack. [any thread]
VCAP_EXPORT void discard(DetectionNodes nodes) noexcept;

}  // namespace vcap::detail
