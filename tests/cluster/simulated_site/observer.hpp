// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cluster/stream_message.hpp"
#include "vcap/cluster/cluster.hpp"

namespace vcap {
class BrokerSubscription;
struct BrokerMessage;
}  // namespace vcap

namespace vcap::simulated {

/// Watches who owns the streams of a site. Thread safety: thread-safe.
class Owners {
 public:
  struct Entry {
    std::string worker{};  ///< empty: none
    std::uint64_t epoch = 0;
    std::chrono::system_clock::time_point since{};  ///< of the epoch
  };

  explicit Owners(const std::shared_ptr<Cluster>& cluster);
  ~Owners();
  Owners(const Owners&) = delete;
  Owners& operator=(const Owners&) = delete;

  std::map<std::string, Entry> entries() const;
  /// The streams of each worker.
  std::map<std::string, std::set<std::string>> streams() const;
  std::size_t owned() const;
  /// Claims so far.
  std::uint64_t claims() const;

 private:
  void hear(const BrokerMessage& note);

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::size_t owned_ = 0;
  std::uint64_t claims_ = 0;
  std::unique_ptr<BrokerSubscription> subscription_;  ///< the last one, since it uses the others
};

/// When the broker stored the first batch of records of each of the streams from an owner that has
/// begun after a time, for those that have one by now. Reads what the site has kept since then.
std::map<std::string, std::chrono::system_clock::time_point> first_records(
    Cluster& cluster, const std::set<std::string>& streams,
    std::chrono::system_clock::time_point since);

}  // namespace vcap::simulated
