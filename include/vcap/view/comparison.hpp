// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// How two runs are compared, and what is shown. Thread safety: value.
struct ComparisonOptions {
  /// What says that a record of one run and a record of the other are of the same frame.
  enum class MatchBy {
    frame_index,
    pts  ///< the times differ by at most `time_tolerance`
  };

  std::string title = "vcap comparison";
  std::string name_a = "A", name_b = "B";  ///< of the runs, as the page shows them
  MatchBy match_by = MatchBy::frame_index;
  std::chrono::nanoseconds time_tolerance = std::chrono::milliseconds(10);  ///< 0 or above
  /// A box has moved if an edge of it has moved by more than this: pixels, 0 or above.
  double tolerance = 0.5;
  /// Boxes of one name that overlap less are not taken for the same object: IoU, above 0 and at
  /// most 1.
  double min_iou = 0.3;
  std::size_t most_streams = 50;  ///< that are shown in full; the table has all of them
  std::size_t most_frames = 40;   ///< that are shown with their boxes, those that differ most
};

/// The run that a record belongs to.
enum class ComparisonSide { a, b };

/// What two runs found of one name, in the frames that both have. Each object of A is in `same`,
/// `moved`, `renamed` or `vanished`; each of B in `same`, `moved`, `appeared`, or `renamed` of the
/// name in A. Thread safety: value.
struct ComparedObjects {
  std::int64_t in_a = 0;
  std::int64_t in_b = 0;
  std::int64_t same = 0;        ///< pairs whose boxes are equal within the tolerance
  std::int64_t moved = 0;       ///< pairs whose boxes overlap, but are not equal
  std::int64_t appeared = 0;    ///< only in B
  std::int64_t vanished = 0;    ///< only in A
  std::int64_t renamed = 0;     ///< have this name in A, and another in B at the same place
  std::int64_t attributes = 0;  ///< values of attributes that differ, in pairs
  double iou_of_moved = 0;      ///< the mean over `moved`; 0 if there is none
  double largest_move = 0;      ///< of an edge, in pixels

  bool operator==(const ComparedObjects&) const = default;
};

/// What a comparison has counted. Thread safety: value.
struct ComparisonTotals {
  std::int64_t records_a = 0;  ///< all that were added
  std::int64_t records_b = 0;
  std::int64_t frames = 0;  ///< that both runs have
  std::int64_t equal = 0;   ///< of these: those whose records are equal in every field
  /// Of `frames`: those in which an object appeared, vanished, moved or was renamed, or in which
  /// attributes, errors, warnings or dropped frames differ, or a track goes on under another id.
  std::int64_t different = 0;
  std::int64_t only_a = 0;  ///< frames that one run lacks, those of `streams_only_…` included
  std::int64_t only_b = 0;
  std::vector<std::string> streams_only_a{};
  std::vector<std::string> streams_only_b{};
  std::int64_t errors_a = 0;  ///< errors and warnings of a frame that the other run lacks
  std::int64_t errors_b = 0;
  /// How often a track of A goes on under another id of B than in the frame before. Ids that are
  /// merely others do not count.
  std::int64_t track_switches = 0;
  /// Frames, by a field of the record that differs and that is not counted above: "confidence",
  /// "encoding", "pts_ns". "track_id" counts if the ids are merely others.
  std::map<std::string, std::int64_t> other_fields{};
  /// By the name of objects. At most 64 names; "(other names)" has the rest.
  std::map<std::string, ComparedObjects> objects{};
};

/// What a comparison says.
enum class ComparisonVerdict {
  identical,  ///< both runs have the same frames, and each record is equal in every field
  alike,      ///< nothing differs but what ComparisonTotals::other_fields names
  different
};

/// Compares the records of two runs over the same frames, for who changes a capsule: what appeared,
/// what vanished, which boxes moved, which attributes and errors differ. Writes it as one HTML file
/// like that of Report.
///
/// Frames are matched by stream, group, and index or time. In a frame, equal boxes of one name are
/// paired first. Then as many of the others as possible are paired, with the largest sum of IoU
/// (linear_assignment()); of more than 500 at a time, each with the one that overlaps it most and
/// is free. What is left is paired with objects of other names if the IoU is at least 0.5. Children
/// count as objects. Objects without an outline are paired in their order.
///
/// Records of each stream must come in order; otherwise the two runs may come as they like. Memory
/// is bounded: records that wait for their partner are kept in memory up to some 64 MB, and beyond
/// in a temporary file without a name. If the sides are added as wanted() says, a record waits only
/// as long as the two runs interleave their streams differently, or the other run lacks its stream.
/// Thread safety: thread-compatible.
class VCAP_EXPORT Comparison {
 public:
  /// Throws InvalidArgument if an option is not allowed.
  explicit Comparison(ComparisonOptions options = {});
  ~Comparison();
  Comparison(Comparison&&) noexcept;
  Comparison& operator=(Comparison&&) noexcept;

  /// Pixels are not looked at. Throws OutputError if the temporary file cannot be written; then no
  /// more may be added.
  void add(ComparisonSide side, const FrameRecord& record);
  /// The side of which fewer records wait.
  ComparisonSide wanted() const noexcept;
  /// Both runs have ended: what still waits has no partner. Must be called before the results are
  /// asked for; then no more may be added. Idempotent. Throws as add().
  void finish();

  std::size_t records() const noexcept;  ///< of both runs, so far
  std::vector<std::string> streams() const;
  ComparisonTotals totals() const;
  ComparisonVerdict verdict() const;

  /// As Report::set_clip(); pictures of the frames that differ most come from it.
  void set_clip(const std::string& stream, const std::string& clip, const std::string& link = {});
  /// The file's text. Reads the clips, and throws SourceError if one cannot be read.
  std::string html() const;
  /// Writes html(). The file appears when it is complete. Throws OutputError.
  void write(const std::string& path) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
