// SPDX-License-Identifier: Apache-2.0
#include "cluster/pipeline_body.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "records/record_line.hpp"

namespace vcap {
namespace {

/// Whether a state that is saved continues in another process.
bool continues(const CapsuleInfo& info) {
  return std::ranges::find(info.keeps_state_at, Discontinuity::reconnect) !=
         info.keeps_state_at.end();
}

}  // namespace

PipelineBody::PipelineBody(std::string id, StreamMessage message, StreamPipelines& pipelines,
                           ObjectStore& objects, std::shared_ptr<Sink> sink)
    : id_(std::move(id)),
      message_(std::move(message)),
      pipeline_(pipelines.get(message_.capsules, objects)),
      sink_(std::move(sink)) {}

std::map<std::string, bool> PipelineBody::states() const {
  std::map<std::string, bool> result;
  for (const std::shared_ptr<Capsule>& capsule : pipeline_->capsules)
    if (capsule->info().stream_state) result[capsule->name()] = continues(capsule->info());
  return result;
}

void PipelineBody::run(const EpochBegin& begin, std::map<std::string, SavedState> saved,
                       Host& host) {
  Pipeline& pipeline = pipeline_->pipeline;
  source_end_->set_save([this] {
    auto states = saved_states();
    const MutexLock lock(mutex_);
    last_states_ = std::move(states);
  });
  pipeline.open_stream(config(begin, std::move(saved)));
  try {
    while (const std::optional<FrameRecord> record = pipeline.next(id_)) {
      const std::string line = record_line(*record);
      host.add(std::string_view(line).substr(0, line.size() - 1), record->frame.index,
               record->frame.pts);
      host.pause(record->frame.index);
      source_end_->passed(record->frame.index);
    }
    host.finish();
  } catch (...) {
    pipeline.close_stream(id_);
    throw;
  }
  const StreamReport report = pipeline.wait(id_);
  if (report.failure_cause) std::rethrow_exception(report.failure_cause);
}

std::optional<std::map<std::string, SavedState>> PipelineBody::save() const {
  {
    const MutexLock lock(mutex_);
    if (last_states_) return last_states_;  // the stream has ended
  }
  return saved_states();
}

std::optional<std::map<std::string, SavedState>> PipelineBody::saved_states() const {
  std::map<std::string, SavedState> states;
  for (const std::shared_ptr<Capsule>& capsule : pipeline_->capsules) {
    if (!capsule->info().stream_state || !continues(capsule->info())) continue;
    nlohmann::json state = capsule->save_state(id_);
    if (state.is_null()) return std::nullopt;
    states[capsule->name()] = {.state = std::move(state), .version = capsule->info().version};
  }
  return states;
}

std::string PipelineBody::trouble() const {
  const auto stats = pipeline_->recent_stats();
  const auto own = std::ranges::find(stats->streams, id_, &StreamStats::id);
  if (own == stats->streams.end() || !own->source_state) return {};
  const SourceState& source = *own->source_state;
  if (source.connection == SourceState::Connection::running || source.attempts < 2) return {};
  return "its camera is away (" + to_string(source.connection) + ", attempt " +
         std::to_string(source.attempts) + "): " + source.last_failure;
}

StreamConfig PipelineBody::config(const EpochBegin& begin,
                                  std::map<std::string, SavedState> saved) const {
  StreamConfig config{.id = id_};
  const SourceOptions options{.silence_limit = message_.silence_limit,
                              .connect_later = message_.source.find("://") != std::string::npos,
                              .max_pixels = message_.max_pixels};
  config.source =
      std::make_unique<ContinuedSource>(open_source(message_.source, options),
                                        ContinuedSource::Begin{.frame_index = begin.frame_index,
                                                               .pts = begin.pts,
                                                               .is_first = begin.is_first,
                                                               .keep_every = message_.keep_every},
                                        source_end_);
  for (const StreamMessage::CapsuleObject& capsule : message_.capsules) {
    if (!capsule.stream_config.empty()) config.config.emplace(capsule.name, capsule.stream_config);
    const auto loaded = std::ranges::find(pipeline_->capsules, capsule.name,
                                          [](const auto& one) { return one->name(); });
    if (loaded == pipeline_->capsules.end()) continue;
    if (const auto state = saved.find(capsule.name); state != saved.end())
      config.saved.insert(*state);
    OptionValues values((*loaded)->info().options, "capsule " + capsule.name);
    values.merge(capsule.options);
    config.options.emplace(capsule.name, std::move(values));
  }
  if (sink_) config.sinks.push_back(sink_);
  config.keep_every = message_.keep_every;
  config.pull = true;
  config.capsule_deadline = message_.capsule_deadline;
  // The first call may compile a network.
  config.first_call_deadline = message_.capsule_deadline * 10;
  return config;
}

}  // namespace vcap
