// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/rollout.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/config_schema.hpp"
#include "cluster/capsule_cache.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/host_name.hpp"
#include "cluster/object_store.hpp"
#include "cluster/site_events.hpp"
#include "cluster/stream_message.hpp"
#include "vcap/base/error.hpp"
#include "vcap/cluster/cluster_records.hpp"
#include "vcap/cluster/site_status.hpp"

namespace vcap {
namespace {

constexpr std::chrono::milliseconds kTrialWait{200};

/// One rollout. Thread safety: thread-compatible.
class Rollout {
 public:
  Rollout(const std::shared_ptr<Cluster>& cluster, const std::string& path,
          const RolloutSettings& settings)
      : cluster_(cluster),
        jet_stream_(cluster->impl().jet_stream),
        site_(cluster->impl().site),
        settings_(settings) {
    LoadOptions load = settings.load;
    load.inference_mode = false;
    info_ = load_capsule(path, load)->info();
    object_ = send_capsule(*make_broker_store(jet_stream_, site_), path);
  }

  RolloutReport run(const std::stop_token& stop) {
    find_streams();
    for (const auto& [id, stream] : streams_) check(id, stream.message);
    for (auto& [id, stream] : streams_) {
      const std::string why = stop.stop_requested() ? "it was stopped" : change(id, stream, stop);
      if (why.empty()) {
        report_.changed.push_back(id);
        if (settings_.on_stream) settings_.on_stream(id);
        continue;
      }
      report_.failed = id;
      report_.reason = why;
      roll_back();
      break;
    }
    for (const auto& [id, stream] : streams_)
      if (std::ranges::find(report_.changed, id) == report_.changed.end())
        report_.left.push_back(id);
    return std::move(report_);
  }

 private:
  struct Stream {
    StreamMessage message{};     ///< as it was
    std::uint64_t sequence = 0;  ///< of its last message
    bool is_changed = false;
  };

  void find_streams() {
    bool has_capsule = false;
    for (const StoredMessage& stored :
         jet_stream_.all(site_.stream(Site::Kind::stream), site_.all(Site::Kind::stream, {}))) {
      const StreamMessage message = read_stream_message(stored.body);
      const auto own =
          std::ranges::find(message.capsules, info_.name, &StreamMessage::CapsuleObject::name);
      if (message.is_removed || own == message.capsules.end()) continue;
      has_capsule = true;
      if (own->object.sha256 != object_.sha256)
        streams_[last_token(stored.subject)] = {message, stored.sequence};
    }
    if (!has_capsule)
      throw InvalidArgument(
          ErrorCode::invalid_argument,
          "no stream of site " + quote(site_.name()) + " has a capsule " + quote(info_.name));
  }

  void check(const std::string& id, const StreamMessage& message) const {
    for (const StreamMessage::CapsuleObject& capsule : message.capsules) {
      if (capsule.name != info_.name) continue;
      static_cast<void>(detail::completed_config(info_, capsule.config));
      static_cast<void>(detail::completed_stream_config(info_, capsule.stream_config, id));
      OptionValues(info_.options, "capsule " + info_.name).merge(capsule.options);
    }
  }

  /// Returns why the trial failed; empty if it has passed.
  std::string change(const std::string& id, Stream& stream, const std::stop_token& stop) {
    StreamMessage next = stream.message;
    for (StreamMessage::CapsuleObject& capsule : next.capsules)
      if (capsule.name == info_.name) capsule.object = object_;
    const std::uint64_t before = epoch_of(id);
    ClusterRecordReader reader(cluster_, {.stream = id});
    const auto sequence = jet_stream_.store(site_.subject(Site::Kind::stream, {id}),
                                            to_message(next), stream.sequence);
    if (!sequence) return "somebody else has changed the stream meanwhile";
    stream.sequence = *sequence;
    stream.is_changed = true;
    tell_site(*cluster_, host_name(), "rollout of a stream",
              {{"stream", id}, {"capsule", info_.name}, {"version", info_.version}});
    return try_out(id, before, reader, stop);
  }

  std::string try_out(const std::string& id, std::uint64_t before, ClusterRecordReader& reader,
                      const std::stop_token& stop) const {
    const auto end = std::chrono::steady_clock::now() + settings_.patience;
    std::int64_t frames = 0;
    while (frames < settings_.trial_frames) {
      if (stop.stop_requested()) return "it was stopped";
      if (std::chrono::steady_clock::now() > end)
        return "it gave " + std::to_string(frames) + " of " +
               std::to_string(settings_.trial_frames) + " frames in time";
      for (const ClusterRecord& record : reader.next(kTrialWait)) {
        if (record.epoch <= before) continue;  // the last ones of the old capsule
        if (std::string error = error_in(record); !error.empty()) return error;
        ++frames;
      }
      for (const ClusterWorkerStatus& worker : cluster_workers(*cluster_))
        if (const auto unfit = worker.unfit.find(id); unfit != worker.unfit.end())
          return "worker " + worker.name + ": " + unfit->second;
    }
    return {};
  }

  /// What the capsule failed with on the frame; empty: nothing.
  std::string error_in(const ClusterRecord& record) const {
    const nlohmann::json frame = nlohmann::json::parse(record.line, nullptr, false);
    if (!frame.is_object()) return {};
    for (const nlohmann::json& error : frame.value("errors", nlohmann::json::array()))
      if (error.is_object() && error.value("capsule", "") == info_.name)
        return "frame " + frame.value("frame_index", nlohmann::json()).dump() + ": " +
               bounded_text(error.value("message", ""));
    return {};
  }

  std::uint64_t epoch_of(const std::string& id) const {
    const auto owner =
        jet_stream_.last(site_.stream(Site::Kind::owner), site_.subject(Site::Kind::owner, {id}));
    return owner ? read_owner_message(owner->body).epoch : 0;
  }

  /// All streams get what they had.
  void roll_back() {
    for (auto entry = streams_.rbegin(); entry != streams_.rend(); ++entry) {
      const auto& [id, stream] = *entry;
      if (!stream.is_changed) continue;
      if (!jet_stream_.store(site_.subject(Site::Kind::stream, {id}), to_message(stream.message),
                             stream.sequence)) {
        report_.reason +=
            "; stream " + quote(id) + " was changed by somebody else, and is not taken back";
        continue;
      }
      std::erase(report_.changed, id);
    }
    tell_site(*cluster_, host_name(), "rollout taken back",
              {{"stream", report_.failed},
               {"capsule", info_.name},
               {"version", info_.version},
               {"reason", report_.reason}});
  }

  const std::shared_ptr<Cluster> cluster_;
  JetStream& jet_stream_;
  const Site& site_;
  const RolloutSettings& settings_;
  CapsuleInfo info_;
  ObjectReference object_;
  std::map<std::string, Stream> streams_;
  RolloutReport report_;
};

}  // namespace

RolloutReport roll_out_capsule(const std::shared_ptr<Cluster>& cluster, const std::string& path,
                               const RolloutSettings& settings, const std::stop_token& stop) {
  if (settings.trial_frames < 0)
    throw InvalidArgument(ErrorCode::invalid_argument, "rollout: trial_frames must be >= 0, got " +
                                                           std::to_string(settings.trial_frames));
  return Rollout(cluster, path, settings).run(stop);
}

}  // namespace vcap
