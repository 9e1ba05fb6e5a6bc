// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster_records.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <utility>

#include "cluster/cluster_impl.hpp"
#include "cluster/record_follower.hpp"

namespace vcap {
namespace {

/// Messages that are read at a time.
constexpr std::size_t kMostMessages = 64;

StreamPlace first_place(Cluster& cluster, const ClusterRecordReader::Settings& settings) {
  if (settings.after) return {.sequence = *settings.after};
  Cluster::Impl& impl = cluster.impl();
  return impl.jet_stream.end(impl.site.stream(Site::Kind::record));
}

std::string filter_of(const Site& site, const std::string& stream) {
  return stream.empty() ? site.all(Site::Kind::record, {})
                        : site.subject(Site::Kind::record, {stream});
}

}  // namespace

class ClusterRecordReader::Impl {
 public:
  Impl(std::shared_ptr<Cluster> cluster, const std::string& stream, StreamPlace after)
      : cluster_(std::move(cluster)),
        reader_(cluster_->impl().jet_stream, cluster_->impl().site.stream(Site::Kind::record),
                filter_of(cluster_->impl().site, stream), after),
        follower_(cluster_->impl().jet_stream, cluster_->impl().site, after.sequence) {}

  static std::unique_ptr<Impl> make(std::shared_ptr<Cluster> cluster, const Settings& settings) {
    const StreamPlace after = first_place(*cluster, settings);
    return std::make_unique<Impl>(std::move(cluster), settings.stream, after);
  }

  /// What it has when it throws comes with the next call.
  std::vector<ClusterRecord> next(std::chrono::milliseconds wait) {
    if (messages_.empty()) {
      std::vector<StoredMessage> read = reader_.next(kMostMessages, wait);
      is_at_end_ = read.size() < kMostMessages;
      std::ranges::move(read, std::back_inserter(messages_));
    }
    if (reader_.was_renewed()) follower_.doubt_first_messages();
    const auto now = std::chrono::steady_clock::now();
    for (; !messages_.empty(); messages_.pop_front()) follower_.take(messages_.front(), now);
    if (is_at_end_) follower_.look_at_quiet_streams(now);
    return follower_.records();
  }

  bool has_more() const noexcept { return !is_at_end_ || !messages_.empty(); }
  const RecordFollower& follower() const noexcept { return follower_; }

 private:
  const std::shared_ptr<Cluster> cluster_;
  StreamReader reader_;
  RecordFollower follower_;
  std::deque<StoredMessage> messages_;  ///< that were not taken yet
  bool is_at_end_ = false;
};

ClusterRecordReader::ClusterRecordReader(std::shared_ptr<Cluster> cluster, const Settings& settings)
    : impl_(Impl::make(std::move(cluster), settings)) {}
ClusterRecordReader::~ClusterRecordReader() = default;
std::vector<ClusterRecord> ClusterRecordReader::next(std::chrono::milliseconds wait) {
  return impl_->next(wait);
}
bool ClusterRecordReader::has_more() const noexcept { return impl_->has_more(); }
std::uint64_t ClusterRecordReader::refused() const noexcept { return impl_->follower().refused(); }
std::uint64_t ClusterRecordReader::overtaken() const noexcept {
  return impl_->follower().overtaken();
}

}  // namespace vcap
