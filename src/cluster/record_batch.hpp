// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vcap {

/// A stream in the hands of one owner. Thread safety: value.
struct StreamEpoch {
  std::string stream{};
  std::uint64_t epoch = 0;

  auto operator<=>(const StreamEpoch&) const = default;
};
/// For spools: a text of both.
std::string to_key(const StreamEpoch& epoch);
/// Throws ClusterError (invalid_message).
StreamEpoch read_key(std::string_view key);

/// Where the frames of an owner begin. Thread safety: value.
struct EpochBegin {
  std::int64_t frame_index = 0;         ///< of its first frame
  std::chrono::nanoseconds pts{0};      ///< of its first frame, at least
  bool is_first = true;                 ///< the stream has no records of earlier owners
  std::vector<std::string> restored{};  ///< capsules whose states continue
  std::vector<std::string> renewed{};   ///< stateful capsules that begin anew
};

/// What is known of a message with records without its records. Thread safety: value.
struct RecordBatchHead {
  std::uint64_t epoch = 0;
  std::string worker{};
  std::int64_t next_frame_index = 0;  ///< after its last record
  std::chrono::nanoseconds pts{0};    ///< of its last record
  std::string spool{};                ///< empty: the begin of an epoch
  std::uint64_t sequence = 0;         ///< in that spool
  std::uint64_t number = 0;           ///< among its owner's, from 1; 0: it does not say
};
/// Throws ClusterError (invalid_message).
RecordBatchHead read_head(const std::string& message);
/// The records of a message "vcap.records/1", as lines of JSON without newlines. Throws
/// ClusterError (invalid_message).
std::vector<std::string> read_records(const std::string& message);

/// The message with which an owner begins: from then on, the broker takes no records of the owner
/// before.
std::string begin_message(const StreamEpoch& epoch, const std::string& worker,
                          const EpochBegin& begin);

/// Records that become one message, "vcap.records/1". Thread safety: thread-compatible.
class RecordBatch {
 public:
  RecordBatch(StreamEpoch epoch, std::string worker);

  /// `record`: an object of JSON, without a newline.
  void add(std::string_view record, std::int64_t frame_index, std::chrono::nanoseconds pts);
  bool is_empty() const noexcept { return count_ == 0; }
  std::size_t size() const noexcept { return records_.size(); }  ///< in bytes
  std::uint64_t count() const noexcept { return count_; }
  /// The message with the records so far, which are taken out.
  std::string take();

 private:
  const StreamEpoch epoch_;
  const std::string worker_;
  std::string records_;
  std::uint64_t count_ = 0;
  std::uint64_t number_ = 0;  ///< of messages that were taken
  std::int64_t last_index_ = 0;
  std::chrono::nanoseconds last_pts_{0};
};

}  // namespace vcap
