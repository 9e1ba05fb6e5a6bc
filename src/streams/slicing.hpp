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
#include "streams/compiled_plan.hpp"
#include "vcap/base/export.hpp"
#include "vcap/sources/sampler.hpp"

namespace vcap {

/// A contiguous run: at its beginning, capsules have no state, and no window reaches before it.
/// Thread safety: value.
struct SliceRun {
  Rows fed{};                  ///< frames that are read
  std::vector<Rows> called{};  ///< frames that each capsule is called for, by step
};

/// A part of a stored stream that runs by itself. Its records are those of a run over the whole
/// stream. For a group, they are those of a run over the group, with rows counted from 0. Thread
/// safety: value.
struct Slice {
  struct Group {
    std::int64_t number = 0;
    std::int64_t begin = 0;                     ///< the row of the stream that counts as 0
    std::map<std::string, JsonValue> config{};  ///< by capsule; replaces the stream's config
  };

  /// All rows that are read.
  Rows fed() const;

  Rows results{};  ///< rows whose records are wanted; the other rows are warm-up and windows
  std::vector<SliceRun> runs{};  ///< ascending, with gaps between them
  std::optional<Group> group{};
};

/// How many frames that are not null are fed before the first frame whose result counts: the
/// warm-up, or twice the warm-up if a capsule may not be called for a frame. 0 without bounded
/// state.
VCAP_EXPORT std::int64_t fed_warmup(const CapsuleInfo& info);

/// Which frames of a stream are null, and so do not count as warm-up. Thread safety: value.
struct NullRows {
  bool any = false;                             ///< there may be null frames
  std::function<bool(std::int64_t)> is_null{};  ///< empty: not known which
};

/// How far a plan's capsules look around the rows whose records are wanted.
///
/// Computed from the last capsule back to the first:
/// - A capsule with bounded state is also called for its warm-up.
/// - A capsule with unbounded state is called from the beginning on.
/// - A stencil needs the frames that it reaches. If its capsule takes all nodes or pictures, it
/// also
///   needs the results of the capsules before for these frames.
///
/// So warm-ups and windows add up if one capsule takes the results of another; otherwise they do
/// not. Thread safety: value; borrows the compiled plan.
class SliceNeeds {
 public:
  explicit SliceNeeds(const CompiledPlan& compiled_plan);

  /// The first capsule whose state is unbounded; null if there is none.
  const std::string* unbounded() const noexcept { return unbounded_; }
  /// Frames to feed before the first wanted one, if no state is unbounded.
  std::int64_t lead() const noexcept { return lead_; }
  /// Frames to feed after the last wanted one.
  std::int64_t trail() const noexcept { return trail_; }

  /// What to run to get the records of these rows, in a stream of `frames` frames.
  Slice slice(Rows wanted, std::int64_t frames, const NullRows& nulls = {}) const;

 private:
  struct Step {
    bool keeps_together = false;  ///< it has a state or sees windows
    bool has_state = false;
    bool is_unbounded = false;
    std::int64_t warmup = 0;
    std::int64_t back = 0;  ///< of its stencil
    std::int64_t ahead = 0;
    std::vector<std::size_t> takes_from{};  ///< steps whose nodes or pictures it may get
    bool takes_neighbours = false;          ///< also for the other frames of its window
  };
  SliceRun run_for(const Rows& wanted, std::int64_t frames, const NullRows& nulls) const;

  std::vector<Step> steps_;
  const std::string* unbounded_ = nullptr;
  std::int64_t lead_ = 0;
  std::int64_t trail_ = 0;
};

/// The rows that a sampler selects out of `frames` rows. Throws InvalidArgument as Sampler::size(),
/// and if the sampler repeats rows.
Rows rows_of(const Sampler& sampler, std::int64_t frames);

/// RandomAccess::seek_point() of the frames to cut.
using SeekPoint = std::function<std::int64_t(std::int64_t row)>;

/// The rows in `parts` parts of about the same size; fewer if parts would be empty.
///
/// With `seek_point`, a cut moves to the nearest place where the later part decodes nothing for
/// nothing: the first row that it is fed, `lead` rows before its own, is then a seek point. Without
/// such a place within a quarter of a part, the cut stays.
std::vector<Rows> cut(const Rows& rows, std::size_t parts, const SeekPoint& seek_point = {},
                      std::int64_t lead = 0);

}  // namespace vcap
