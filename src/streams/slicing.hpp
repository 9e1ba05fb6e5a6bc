// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sources/rows.hpp"
#include "streams/program.hpp"
#include "vcap/base/export.hpp"
#include "vcap/sources/sampler.hpp"

namespace vcap {

/// What is gone through at a stretch: capsules have no state and see no window from before it.
/// Thread safety: value.
struct SliceRun {
  Rows fed{};                  ///< frames that are read
  std::vector<Rows> called{};  ///< those that each capsule is called for, by step
};

/// A part of a stored stream that is run by itself. Its records are those of a run over all of it,
/// or, of a group, over the group alone, in which rows count from 0. Thread safety: value.
struct VCAP_EXPORT Slice {
  struct Group {
    std::int64_t number = 0;
    std::int64_t begin = 0;                          ///< the row of the stream that counts as 0
    std::map<std::string, nlohmann::json> config{};  ///< in place of the stream's, by capsule
  };

  /// All that is read.
  Rows fed() const;

  Rows results{};                ///< rows whose records are wanted; the rest is warm-up
  std::vector<SliceRun> runs{};  ///< ascending, and apart from each other
  std::optional<Group> group{};
};

/// How many frames that are not null are fed before the first one whose result counts: the warm-up,
/// or twice that of a capsule that may go without a call for a frame. 0 without bounded state.
VCAP_EXPORT std::int64_t fed_warmup(const CapsuleInfo& info);

/// Which of a stream's frames are null, and so no warm-up for anybody. Thread safety: value.
struct NullRows {
  bool any = false;                             ///< there may be some
  std::function<bool(std::int64_t)> is_null{};  ///< empty: it is not known which
};

/// How far a plan's capsules look around the rows whose records are wanted.
///
/// Going back from the last capsule to the first: one with bounded state is called for its warm-up
/// too, one with unbounded state from the beginning on; a stencil needs the frames that it reaches,
/// and, where its capsule takes all nodes, what the capsules before make of them. So warm-ups and
/// windows add up where one capsule builds on another, and do not where they stand side by side.
/// Thread safety: value; borrows the program.
class VCAP_EXPORT SliceNeeds {
 public:
  explicit SliceNeeds(const Program& program);

  /// The first capsule whose state is unbounded; null where there is none.
  const std::string* unbounded() const noexcept { return unbounded_; }
  /// Frames before the first wanted one that are to be fed, where no state is unbounded.
  std::int64_t lead() const noexcept { return lead_; }
  /// Frames behind the last wanted one.
  std::int64_t trail() const noexcept { return trail_; }

  /// What gives the records of these rows, of a stream of so many frames.
  Slice slice(Rows wanted, std::int64_t frames, const NullRows& nulls = {}) const;

 private:
  struct Step {
    bool keeps_together = false;  ///< it has a state or sees windows
    bool has_state = false;
    bool is_unbounded = false;
    std::int64_t warmup = 0;
    std::int64_t back = 0;  ///< of its stencil
    std::int64_t ahead = 0;
    std::vector<std::size_t> takes_from{};  ///< steps whose nodes it may see
    bool takes_neighbours = false;          ///< also on the other frames of its window
  };
  SliceRun run_for(const Rows& wanted, std::int64_t frames, const NullRows& nulls) const;

  std::vector<Step> steps_;
  const std::string* unbounded_ = nullptr;
  std::int64_t lead_ = 0;
  std::int64_t trail_ = 0;
};

/// The rows that a sampler gives of so many. Throws InvalidArgument as Sampler::size, and where it
/// repeats rows.
VCAP_EXPORT Rows rows_of(const Sampler& sampler, std::int64_t frames);

/// The rows in as many parts of about the same size, without empty ones.
VCAP_EXPORT std::vector<Rows> cut(const Rows& rows, std::size_t parts);

}  // namespace vcap
