// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster_records.hpp"

#include <map>
#include <utility>

#include "base/text.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/record_batch.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

/// Messages that are read at a time.
constexpr std::size_t kMostMessages = 64;

std::uint64_t first_place(Cluster& cluster, const ClusterRecordReader::Settings& settings) {
  if (settings.after) return *settings.after;
  Cluster::Impl& impl = cluster.impl();
  return impl.jet_stream.last_sequence(impl.site.stream(Site::Kind::record));
}

std::string filter_of(const Site& site, const std::string& stream) {
  return stream.empty() ? site.all(Site::Kind::record, {})
                        : site.subject(Site::Kind::record, {stream});
}

}  // namespace

class ClusterRecordReader::Impl {
 public:
  Impl(std::shared_ptr<Cluster> cluster, const Settings& settings)
      : cluster_(std::move(cluster)),
        reader_(cluster_->impl().jet_stream, cluster_->impl().site.stream(Site::Kind::record),
                filter_of(cluster_->impl().site, settings.stream),
                first_place(*cluster_, settings)) {}

  std::vector<ClusterRecord> next(std::chrono::milliseconds wait) {
    std::vector<ClusterRecord> records;
    const std::vector<StoredMessage> messages = reader_.next(kMostMessages, wait);
    has_more_ = messages.size() == kMostMessages;
    for (const StoredMessage& message : messages) {
      try {
        take(message, records);
      } catch (const ClusterError& error) {
        ++refused_;
        log(LogLevel::warning,
            "cluster: records on " + quote(message.subject) + " are left out: " + error.what());
      }
    }
    return records;
  }

  bool has_more() const noexcept { return has_more_; }
  std::uint64_t refused() const noexcept { return refused_; }
  std::uint64_t overtaken() const noexcept { return overtaken_; }

 private:
  void take(const StoredMessage& message, std::vector<ClusterRecord>& records) {
    const std::string stream = last_token(message.subject);
    RecordBatchHead head = read_head(message.body);
    // The broker may have taken it when another owner had just begun (begin_epoch()). A stream that
    // was forgotten begins anew.
    std::uint64_t& epoch = epochs_[stream];
    if (head.spool.empty() && head.epoch == 1) epoch = 0;
    if (head.epoch < epoch) {
      if (overtaken_++ > 0) return;
      log(LogLevel::warning, "cluster: records of stream " + quote(stream) + " from worker " +
                                 head.worker + " (epoch " + std::to_string(head.epoch) +
                                 ") are left out, because epoch " + std::to_string(epoch) +
                                 " had begun; further ones are only counted");
      return;
    }
    epoch = head.epoch;
    // Workers store each message once; other ways to the site may not.
    std::uint64_t& seen = seen_[{stream, head.spool}];
    if (!head.spool.empty() && head.sequence <= seen) return;
    seen = head.sequence;
    for (std::string& line : read_records(message.body))
      records.push_back({.stream_id = stream,
                         .line = std::move(line),
                         .worker = head.worker,
                         .epoch = head.epoch,
                         .place = message.sequence});
  }

  const std::shared_ptr<Cluster> cluster_;
  StreamReader reader_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> seen_;
  std::map<std::string, std::uint64_t> epochs_;  ///< of each stream
  std::uint64_t refused_ = 0;
  std::uint64_t overtaken_ = 0;
  bool has_more_ = true;
};

ClusterRecordReader::ClusterRecordReader(std::shared_ptr<Cluster> cluster, const Settings& settings)
    : impl_(std::make_unique<Impl>(std::move(cluster), settings)) {}
ClusterRecordReader::~ClusterRecordReader() = default;
std::vector<ClusterRecord> ClusterRecordReader::next(std::chrono::milliseconds wait) {
  return impl_->next(wait);
}
bool ClusterRecordReader::has_more() const noexcept { return impl_->has_more(); }
std::uint64_t ClusterRecordReader::refused() const noexcept { return impl_->refused(); }
std::uint64_t ClusterRecordReader::overtaken() const noexcept { return impl_->overtaken(); }

}  // namespace vcap
