// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/record_batch.hpp"
#include "vcap/base/error.hpp"
#include "vcap/cluster/cluster_records.hpp"

namespace vcap::test {

/// A frame of a stream, from one owner. Thread safety: value.
struct WatchedFrame {
  std::string stream{};
  std::int64_t index = -1;
  std::uint64_t epoch = 0;
  auto operator<=>(const WatchedFrame&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const WatchedFrame& frame) {
  return out << "frame " << frame.index << " of epoch " << frame.epoch << " of stream "
             << frame.stream;
}

/// Reads the records of all streams, and checks that each owner's frames come once and in order,
/// and the owners one after the other. Thread safety: thread-compatible.
class RecordWatch {
 public:
  struct Stream {
    WatchedFrame last{};
    std::int64_t count = 0;  ///< of the capsule
    std::size_t records = 0;
  };

  explicit RecordWatch(std::shared_ptr<Cluster> cluster)
      : reader_(std::move(cluster), {.stream = {}, .after = 0}) {}

  /// All that there is now. If the broker does not answer, the next call goes on.
  void read() {
    try {
      do {
        for (const ClusterRecord& record : reader_.next(std::chrono::milliseconds(50)))
          check(record);
      } while (reader_.has_more());
    } catch (const ClusterError&) {
    }
  }

  const std::map<std::string, Stream>& streams() const { return streams_; }
  const std::set<WatchedFrame>& frames() const { return frames_; }
  /// The worker that gave the frame.
  const std::string& worker_of(const WatchedFrame& frame) const {
    return owners_.at({frame.stream, frame.epoch});
  }
  /// Records of an owner between others of it that did not come, by its worker.
  const std::map<std::string, std::size_t>& lost() const { return lost_; }
  /// What was wrong.
  const std::vector<std::string>& faults() const { return faults_; }
  /// Frames that an owner before had given, too. Who reads at the end gets none.
  const std::vector<std::string>& repeated() const { return repeated_; }
  std::uint64_t refused() const { return reader_.refused(); }
  std::uint64_t overtaken() const { return reader_.overtaken(); }

 private:
  void check(const ClusterRecord& record) {
    Stream& stream = streams_[record.stream_id];
    const auto json = nlohmann::json::parse(record.line);
    const WatchedFrame frame{record.stream_id, json.at("frame_index"), record.epoch};
    if (frame.index <= stream.last.index || frame.epoch < stream.last.epoch) {
      std::ostringstream fault;
      fault << frame << " after " << stream.last;
      (frame.epoch > stream.last.epoch ? repeated_ : faults_).push_back(fault.str());
    }
    // The capsule counts the frames that it gets, and each has a record.
    const std::int64_t count = json.at("objects").at(0).at("extra_data").at("frames");
    if (frame.epoch == stream.last.epoch)
      lost_[record.worker] += static_cast<std::size_t>(count - stream.count - 1);
    stream.count = count;
    stream.last = frame;
    ++stream.records;
    frames_.insert(frame);
    owners_[{frame.stream, frame.epoch}] = record.worker;
  }

  ClusterRecordReader reader_;
  std::map<std::string, Stream> streams_;
  std::set<WatchedFrame> frames_;
  std::map<std::pair<std::string, std::uint64_t>, std::string> owners_;  ///< of streams' epochs
  std::map<std::string, std::size_t> lost_;
  std::vector<std::string> faults_;
  std::vector<std::string> repeated_;
};

/// The frames whose records a worker has set aside in its folder.
inline std::set<WatchedFrame> set_aside(const std::filesystem::path& folder) {
  std::set<WatchedFrame> frames;
  std::ifstream file(folder / "worker-0/spool/refused.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_discarded()) continue;  // the worker was killed meanwhile
    const std::uint64_t epoch = json.at("record").at("epoch");
    for (const std::string& record : read_records(json.at("record").dump())) {
      const auto frame = nlohmann::json::parse(record);
      frames.insert({frame.at("stream_id"), frame.at("frame_index"), epoch});
    }
  }
  return frames;
}

}  // namespace vcap::test
