// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/record_batch.hpp"
#include "vcap/base/error.hpp"
#include "vcap/cluster/cluster_records.hpp"

namespace vcap::test {

/// Reads the records of all streams, and checks that each frame comes once, in order, and from one
/// owner. Thread safety: thread-compatible.
class RecordWatch {
 public:
  struct Stream {
    std::int64_t last = -1;
    std::uint64_t epoch = 0;
    std::int64_t count = 0;                          ///< of the capsule
    std::map<std::int64_t, std::uint64_t> epochs{};  ///< of each frame
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
  /// Records of an owner between others of it that did not come, by its worker.
  const std::map<std::string, std::size_t>& lost() const { return lost_; }
  /// What was wrong.
  const std::vector<std::string>& faults() const { return faults_; }
  std::uint64_t refused() const { return reader_.refused(); }
  std::uint64_t overtaken() const { return reader_.overtaken(); }

  /// The records that a worker has set aside in its folder. Those must not have been published.
  std::size_t check_set_aside(const std::filesystem::path& folder) {
    std::size_t count = 0;
    std::ifstream file(folder / "worker-0/spool/refused.jsonl");
    for (std::string line; std::getline(file, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_discarded()) continue;  // the worker was killed meanwhile
      const std::uint64_t epoch = json.at("record").at("epoch");
      for (const std::string& record : read_records(json.at("record").dump())) {
        ++count;
        const auto frame = nlohmann::json::parse(record);
        const auto& published = streams_[frame.at("stream_id")].epochs;
        const auto found = published.find(frame.at("frame_index"));
        if (found != published.end() && found->second == epoch)
          faults_.push_back("set aside and published: " + record);
      }
    }
    return count;
  }

 private:
  void check(const ClusterRecord& record) {
    Stream& stream = streams_[record.stream_id];
    const auto frame = nlohmann::json::parse(record.line);
    const std::int64_t index = frame.at("frame_index");
    if (index <= stream.last || record.epoch < stream.epoch)
      faults_.push_back("frame " + std::to_string(index) + " of epoch " +
                        std::to_string(record.epoch) + " of stream " + record.stream_id +
                        " after frame " + std::to_string(stream.last) + " of epoch " +
                        std::to_string(stream.epoch));
    // The capsule counts the frames that it gets, and each has a record.
    const std::int64_t count = frame.at("objects").at(0).at("extra_data").at("frames");
    if (record.epoch == stream.epoch)
      lost_[record.worker] += static_cast<std::size_t>(count - stream.count - 1);
    stream.count = count;
    stream.last = index;
    stream.epoch = record.epoch;
    stream.epochs.emplace(index, record.epoch);
  }

  ClusterRecordReader reader_;
  std::map<std::string, Stream> streams_;
  std::map<std::string, std::size_t> lost_;
  std::vector<std::string> faults_;
};

}  // namespace vcap::test
