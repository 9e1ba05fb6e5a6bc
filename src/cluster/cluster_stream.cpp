// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster_stream.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/config_schema.hpp"
#include "cluster/capsule_cache.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/host_name.hpp"
#include "cluster/object_store.hpp"
#include "cluster/site_events.hpp"
#include "cluster/site_reader.hpp"
#include "cluster/site_view.hpp"
#include "cluster/stream_message.hpp"
#include "cluster/stream_status.hpp"
#include "files/url.hpp"
#include "vcap/base/error.hpp"
#include "vcap/plan/plan.hpp"

namespace vcap {
namespace {

constexpr std::size_t kLongestId = 128;
constexpr double kUnknownLoad = 0.25;

[[noreturn]] void refuse_stream(const std::string& id, const std::string& why) {
  throw InvalidArgument(ErrorCode::invalid_argument, "stream " + quote(id) + ": " + why);
}

void check_values(const ClusterStream& stream) {
  if (stream.id.empty() || stream.id.size() > kLongestId)
    refuse_stream(stream.id,
                  "the id must have 1 to 128 bytes, got " + std::to_string(stream.id.size()));
  const auto require_utf8 = [&](const char* what, const std::string& text) {
    if (find_invalid_utf8(text) < text.size())
      refuse_stream(stream.id, std::string(what) + ' ' + quote(text) + " is not UTF-8");
  };
  require_utf8("the id", stream.id);
  require_utf8("the source", stream.source);
  for (const std::string& label : stream.labels) {
    if (label.empty()) refuse_stream(stream.id, "a label is empty");
    require_utf8("the label", label);
  }
  if (stream.source.empty()) refuse_stream(stream.id, "there is no source");
  if (stream.capsules.empty()) refuse_stream(stream.id, "there are no capsules");
  if (stream.load && (!std::isfinite(*stream.load) || *stream.load < 0))
    refuse_stream(stream.id, "the load must be >= 0, got " + number_text(*stream.load));
  if (stream.keep_every < 1)
    refuse_stream(stream.id, "keep_every must be >= 1, got " + std::to_string(stream.keep_every));
  if (stream.capsule_deadline.count() < 0)
    refuse_stream(stream.id, "capsule_deadline must be >= 0");
  if (stream.silence_limit.count() < 1)
    refuse_stream(stream.id, "silence_limit must be at least 1 ms");
  if (stream.max_pixels < 1) refuse_stream(stream.id, "max_pixels must be at least 1");
}

/// Checks what the stream sets for a capsule, by its description.
CapsuleInfo check_capsule(const ClusterStream& stream, const ClusterStream::CapsuleFile& file,
                          LoadOptions load) {
  load.inference_mode = false;
  CapsuleInfo info = load_capsule(file.path, load)->info();
  static_cast<void>(detail::completed_config(info, file.config));
  static_cast<void>(detail::completed_stream_config(info, file.stream_config, stream.id));
  OptionValues(info.options, "capsule " + info.name).merge(*file.options);
  return info;
}

StreamMessage message_of(const ClusterStream& stream) {
  return {.source = stream.source,
          .labels = stream.labels,
          .load = stream.load.value_or(kUnknownLoad),
          .keep_every = stream.keep_every,
          .capsule_deadline = stream.capsule_deadline,
          .silence_limit = stream.silence_limit,
          .max_pixels = stream.max_pixels};
}

}  // namespace

ClusterStreamStatus status_of(const SiteView& view, const Placement& placement,
                              const std::string& id, Clock::time_point now) {
  const auto& entry = view.streams().at(id);
  ClusterStreamStatus status{.id = id,
                             .source = without_password(entry.message.source),
                             .load = view.load_of(id),
                             .labels = entry.message.labels};
  for (const StreamMessage::CapsuleObject& capsule : entry.message.capsules)
    status.capsules.push_back(capsule.name + '@' + capsule.object.sha256.substr(0, 12));
  const auto* const owner = view.owner(id);
  if (owner) status.epoch = static_cast<std::int64_t>(owner->message.epoch);
  status.worker = view.living_owner(id, now);
  if (!status.worker.empty()) {
    const auto& troubles = view.workers().at(status.worker).message.troubles;
    if (const auto trouble = troubles.find(id); trouble != troubles.end())
      status.reason = trouble->second;
    status.state = entry.message.is_removed ? ClusterStreamStatus::State::removing
                                            : ClusterStreamStatus::State::running;
  } else if (owner && owner->message.state == OwnerMessage::State::ended &&
             owner->message.stream == entry.sequence) {
    status.state = ClusterStreamStatus::State::ended;
    status.reason = owner->message.reason;
  } else if (const auto reason = placement.reasons.find(id); reason != placement.reasons.end()) {
    status.reason = reason->second;
    for (const auto& [name, worker] : view.workers())
      if (const auto unfit = worker.message.unfit.find(id); unfit != worker.message.unfit.end())
        status.reason += "; " + name + ": " + unfit->second;
  } else {
    status.reason = "it is being taken over";
  }
  return status;
}

std::string_view to_string(ClusterStreamStatus::State state) noexcept {
  switch (state) {
    case ClusterStreamStatus::State::waiting:
      return "waiting";
    case ClusterStreamStatus::State::running:
      return "running";
    case ClusterStreamStatus::State::ended:
      return "ended";
    case ClusterStreamStatus::State::removing:
      return "removing";
    case ClusterStreamStatus::State::invalid:
      return "invalid";
  }
  return "?";
}

void add_cluster_stream(Cluster& cluster, const ClusterStream& stream, const LoadOptions& load,
                        bool replace) {
  check_values(stream);
  std::vector<CapsuleInfo> infos;
  for (const ClusterStream::CapsuleFile& file : stream.capsules)
    infos.push_back(check_capsule(stream, file, load));
  static_cast<void>(Plan(infos));
  Cluster::Impl& impl = cluster.impl();
  const std::string subject = impl.site.subject(Site::Kind::stream, {stream.id});
  const auto last = impl.jet_stream.last(impl.site.stream(Site::Kind::stream), subject);
  const bool is_free = !last || read_stream_message(last->body).is_removed;
  if (!is_free && !replace)
    refuse_stream(stream.id, "the site has such a stream; remove it, or replace it");
  StreamMessage message = message_of(stream);
  const auto objects = make_broker_store(impl.jet_stream, impl.site);
  for (std::size_t i = 0; i < infos.size(); ++i)
    message.capsules.push_back({.name = infos[i].name,
                                .object = send_capsule(*objects, stream.capsules[i].path),
                                .config = *stream.capsules[i].config,
                                .options = *stream.capsules[i].options,
                                .stream_config = *stream.capsules[i].stream_config});
  const std::string text = to_message(message);
  if (!impl.jet_stream.store(subject, text, last ? last->sequence : 0)) {
    // Or this was stored, and the answer was lost with the leader that gave it.
    const auto now = impl.jet_stream.last(impl.site.stream(Site::Kind::stream), subject);
    if (!now || now->body != text)
      refuse_stream(stream.id, "somebody else has changed it meanwhile; look at it, and try again");
  }
  // Who removes a job or a stream may not have seen that this one has the same capsule.
  for (const ClusterStream::CapsuleFile& file : stream.capsules)
    static_cast<void>(send_capsule(*objects, file.path));
  tell_site(cluster, host_name(), last ? "stream changed" : "stream added",
            {{"stream", stream.id}});
}

void remove_cluster_stream(Cluster& cluster, const std::string& id) {
  Cluster::Impl& impl = cluster.impl();
  const std::string subject = impl.site.subject(Site::Kind::stream, {id});
  for (;;) {
    const auto last = impl.jet_stream.last(impl.site.stream(Site::Kind::stream), subject);
    if (!last) refuse_stream(id, "the site has no such stream");
    StreamMessage message;
    try {
      message = read_stream_message(last->body);
    } catch (const ClusterError&) {  // it goes away, whatever it is
      impl.jet_stream.purge(impl.site.stream(Site::Kind::stream), subject);
      return;
    }
    if (message.is_removed) return;
    message.is_removed = true;
    if (impl.jet_stream.store(subject, to_message(message), last->sequence)) break;
  }
  tell_site(cluster, host_name(), "stream is to be removed", {{"stream", id}});
}

std::vector<ClusterStreamStatus> cluster_streams(Cluster& cluster) {
  const SiteReading site = read_site(cluster);
  const Placement placement = site.view.placement(site.now);
  std::vector<ClusterStreamStatus> result;
  for (const auto& [id, entry] : site.view.streams())
    result.push_back(status_of(site.view, placement, id, site.now));
  for (const auto& [id, reason] : site.invalid_streams)
    result.push_back({.id = id, .state = ClusterStreamStatus::State::invalid, .reason = reason});
  std::ranges::sort(result, {}, &ClusterStreamStatus::id);
  return result;
}

}  // namespace vcap
