// SPDX-License-Identifier: Apache-2.0
#include "cluster/owned_stream.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "files/output_file.hpp"
#include "files/strict_json.hpp"
#include "records/record_line.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

/// A load is rounded up to this, so that small changes are not told to the site.
constexpr double kLoadStep = 0.05;
constexpr int kCheckpointTries = 5;
/// The states of a stream; a larger checkpoint is refused.
constexpr std::uint64_t kMostCheckpointBytes = std::uint64_t{64} << 20;

double rounded_up(double load) { return std::ceil(load / kLoadStep) * kLoadStep; }

/// Whether a state that is saved continues after a change of the worker.
bool continues(const CapsuleInfo& info) {
  return std::ranges::find(info.keeps_state_at, Discontinuity::reconnect) !=
         info.keeps_state_at.end();
}

}  // namespace

OwnedStream::OwnedStream(std::string id, StreamMessage message, Claim claim, Context context)
    : id_(std::move(id)),
      message_(std::move(message)),
      epoch_{id_, claim.owner.epoch},
      context_(std::move(context)),
      claim_(std::move(claim)) {
  thread_ = std::thread([this] { live(); });
}

OwnedStream::~OwnedStream() {
  stop("the worker ends");
  thread_.join();
}

void OwnedStream::stop(const std::string& why) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    reason_ = why;
  }
  source_end_->request();
}

void OwnedStream::lose() {
  {
    const MutexLock lock(mutex_);
    lost_ = true;
  }
  stop("another worker has it");
}

OwnedStream::End OwnedStream::end() const {
  const MutexLock lock(mutex_);
  return end_;
}

std::string OwnedStream::reason() const {
  const MutexLock lock(mutex_);
  return reason_;
}

bool OwnedStream::is_stopping() const {
  const MutexLock lock(mutex_);
  return stopping_;
}

void OwnedStream::live() {
  End end = End::failed;
  std::string reason;
  try {
    run();
    end = is_stopping() ? End::released : End::ended;
    reason = is_stopping() ? this->reason() : "its source has ended";
  } catch (...) {
    reason = exception_text(std::current_exception());
  }
  finish(end, reason);
  if (context_.on_end) context_.on_end();
}

void OwnedStream::run() {
  std::map<std::string, SavedState> saved = read_checkpoint();
  pipeline_ = context_.pipelines.get(message_.capsules, context_.objects);
  if (is_stopping()) return;
  EpochBegin begin;
  for (const std::shared_ptr<Capsule>& capsule : pipeline_->capsules) {
    if (!capsule->info().stream_state) continue;
    const bool is_restored = saved.contains(capsule->name()) && continues(capsule->info());
    (is_restored ? begin.restored : begin.renewed).push_back(capsule->name());
  }
  lane_ = context_.outlet.begin(epoch_, store_begin(begin));
  pipeline_->pipeline.open_stream(config(begin, std::move(saved)));
  context_.events.tell("stream begun", {{"stream", id_},
                                        {"epoch", epoch_.epoch},
                                        {"frame_index", begin.frame_index},
                                        {"restored", begin.restored},
                                        {"renewed", begin.renewed}});
  try {
    deliver();
  } catch (...) {
    pipeline_->pipeline.close_stream(id_);
    throw;
  }
  const StreamReport report = pipeline_->pipeline.wait(id_);
  if (report.failure_cause && !is_stopping()) std::rethrow_exception(report.failure_cause);
}

/// Sets where the frames begin, and returns the sequence of the message.
std::uint64_t OwnedStream::store_begin(EpochBegin& begin) {
  Cluster::Impl& impl = context_.cluster->impl();
  const std::string stream = impl.site.stream(Site::Kind::record);
  const std::string subject = impl.site.subject(Site::Kind::record, {id_});
  for (;;) {
    const std::optional<StoredMessage> last = impl.jet_stream.last(stream, subject);
    begin.is_first = !last && epoch_.epoch == 1;
    if (last) {
      try {
        const RecordBatchHead head = read_head(last->body);
        if (head.epoch > epoch_.epoch) lose();
        begin.frame_index = head.next_frame_index;
        // Its time goes on while nobody has the stream.
        const nanoseconds since = impl.jet_stream.time(stream) - last->time;
        begin.pts = head.pts + std::max<nanoseconds>(since, std::chrono::milliseconds(1));
      } catch (const ClusterError& error) {
        if (error.code() != ErrorCode::invalid_message) throw;
        log(LogLevel::warning, "cluster: stream " + quote(id_) +
                                   ": its last records are ignored, so its frames are counted "
                                   "from 0: " +
                                   error.what());
      }
    }
    if (is_stopping()) throw ClusterError(ErrorCode::closed, "stream " + quote(id_) + " is to end");
    if (const auto sequence = impl.jet_stream.store(
            subject, begin_message(epoch_, claim_.owner.worker, begin), last ? last->sequence : 0))
      return *sequence;
  }
}

StreamConfig OwnedStream::config(const EpochBegin& begin, std::map<std::string, SavedState> saved) {
  StreamConfig config{.id = id_};
  SourceOptions options{.silence_limit = message_.silence_limit,
                        .connect_later = message_.source.find("://") != std::string::npos,
                        .max_pixels = message_.max_pixels};
  config.source = std::make_unique<ContinuedSource>(
      open_source(message_.source, options),
      ContinuedSource::Begin{
          .frame_index = begin.frame_index, .pts = begin.pts, .is_first = begin.is_first},
      source_end_);
  config.saved = std::move(saved);
  for (const StreamMessage::CapsuleObject& capsule : message_.capsules) {
    if (!capsule.stream_config.empty()) config.config.emplace(capsule.name, capsule.stream_config);
    const auto loaded = std::ranges::find(pipeline_->capsules, capsule.name,
                                          [](const auto& one) { return one->name(); });
    if (capsule.options.empty() || loaded == pipeline_->capsules.end()) continue;
    OptionValues values((*loaded)->info().options, "capsule " + capsule.name);
    values.merge(capsule.options);
    config.options.emplace(capsule.name, std::move(values));
  }
  config.keep_every = message_.keep_every;
  config.pull = true;
  config.capsule_deadline = message_.capsule_deadline;
  // The first call may compile a network.
  config.first_call_deadline = message_.capsule_deadline * 10;
  return config;
}

void OwnedStream::deliver() {
  auto checkpoint_at = std::chrono::steady_clock::now() + context_.checkpoint_time;
  std::int64_t index = -1;
  int tries = 0;
  while (const std::optional<FrameRecord> record = pipeline_->pipeline.next(id_)) {
    const std::string line = record_line(*record);
    index = record->frame.index;
    context_.outlet.add(*lane_, std::string_view(line).substr(0, line.size() - 1), index,
                        record->frame.pts);
    if (std::chrono::steady_clock::now() < checkpoint_at || is_stopping()) continue;
    // A state that is in use now is saved after one of the next records.
    if (!save_checkpoint(index) && ++tries < kCheckpointTries) continue;
    tries = 0;
    checkpoint_at = std::chrono::steady_clock::now() + context_.checkpoint_time;
  }
  if (index >= 0 && is_stopping()) save_checkpoint(index);
}

/// States that cannot be read begin anew.
std::map<std::string, SavedState> OwnedStream::read_checkpoint() {
  std::map<std::string, SavedState> saved;
  if (!claim_.owner.checkpoint) return saved;
  const ObjectReference& object = claim_.owner.checkpoint->object;
  const fs::path file = fs::path(context_.folder) / Uuid::random().to_string();
  try {
    if (object.size > kMostCheckpointBytes)
      throw ClusterError(ErrorCode::invalid_message,
                         "it has " + std::to_string(object.size) + " bytes");
    fs::create_directories(context_.folder);
    context_.objects.get(object, file);
    std::ifstream input(file, std::ios::binary);
    std::ostringstream text;
    text << input.rdbuf();
    const nlohmann::json states = parse_strictly(text.str());
    for (const auto& [capsule, state] : states.items())
      if (std::ranges::find(message_.capsules, capsule, &StreamMessage::CapsuleObject::name) !=
          message_.capsules.end())
        saved[capsule] = {.state = state.at("state"), .version = state.at("version")};
  } catch (const std::exception& error) {
    log(LogLevel::warning, "cluster: stream " + quote(id_) +
                               ": the states of its capsules cannot be read, so they begin anew: " +
                               bounded_text(error.what()));
    saved.clear();
  }
  std::error_code ignored;
  fs::remove(file, ignored);
  return saved;
}

/// Keeps the old checkpoint if there is nothing new, or it cannot be stored. Returns false if a
/// state was in use.
bool OwnedStream::save_checkpoint(std::int64_t frame_index) {
  bool is_complete = true;
  try {
    nlohmann::json states = nlohmann::json::object();
    for (const std::shared_ptr<Capsule>& capsule : pipeline_->capsules) {
      if (!capsule->info().stream_state || !continues(capsule->info())) continue;
      nlohmann::json state = capsule->save_state(id_);
      if (state.is_null())
        is_complete = false;
      else
        states[capsule->name()] = {{"state", std::move(state)},
                                   {"version", capsule->info().version}};
    }
    std::optional<double> load = pipeline_->load_of(id_);
    if (load) load = rounded_up(*load);
    const bool has_new_load = load && load != claim_.owner.load;
    if (!is_complete) states.clear();
    if (states.empty() && !has_new_load) return is_complete;
    std::optional<OwnerMessage::Checkpoint> checkpoint = claim_.owner.checkpoint;
    if (!states.empty()) {
      const fs::path file = fs::path(context_.folder) / Uuid::random().to_string();
      fs::create_directories(context_.folder);
      OutputFile output(file, OutputFile::Target::regular_file);
      output.write(states.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      output.commit();
      const std::string name = "state/" + to_token(id_) + '/' + std::to_string(epoch_.epoch) + '-' +
                               std::to_string(frame_index);
      checkpoint = {context_.objects.put(name, file), frame_index};
      fs::remove(file);
    }
    const auto old = claim_.owner.checkpoint;
    if (update([&](OwnerMessage& owner) {
          owner.checkpoint = checkpoint;
          if (load) owner.load = load;
        }) &&
        old && checkpoint && old->object.name != checkpoint->object.name)
      context_.objects.erase(old->object.name);
  } catch (const std::exception& error) {
    log(LogLevel::warning,
        "cluster: stream " + quote(id_) +
            ": the states of its capsules cannot be saved: " + bounded_text(error.what()));
  }
  return is_complete;
}

/// Changes the owner's record. Returns false, and ends the stream, if another worker has it.
bool OwnedStream::update(const std::function<void(OwnerMessage&)>& change) {
  Cluster::Impl& impl = context_.cluster->impl();
  const std::string subject = impl.site.subject(Site::Kind::owner, {id_});
  change(claim_.owner);
  for (;;) {
    if (const auto sequence =
            impl.jet_stream.store(subject, to_message(claim_.owner), claim_.sequence)) {
      claim_.sequence = *sequence;
      return true;
    }
    // It may be this owner's own message, whose answer was lost.
    const auto last = impl.jet_stream.last(impl.site.stream(Site::Kind::owner), subject);
    const bool is_own = [&] {
      if (!last) return false;
      const OwnerMessage owner = read_owner_message(last->body);
      return owner.epoch == claim_.owner.epoch && owner.session == claim_.owner.session;
    }();
    if (!is_own || last->sequence == claim_.sequence) break;
    claim_.sequence = last->sequence;
  }
  lose();
  return false;
}

void OwnedStream::finish(End end, const std::string& reason) {
  bool is_lost = false;
  {
    const MutexLock lock(mutex_);
    is_lost = lost_;
  }
  try {
    const bool is_settled = !lane_ || context_.outlet.end(*lane_, context_.end_wait);
    if (lane_ && context_.outlet.is_superseded(*lane_)) is_lost = true;
    if (!is_settled)
      log(LogLevel::warning, "cluster: stream " + quote(id_) +
                                 ": the broker has not taken its last records, which stay in the "
                                 "spool of this worker");
    if (!is_lost)
      is_lost = !update([&](OwnerMessage& owner) {
        owner.state =
            end == End::ended ? OwnerMessage::State::ended : OwnerMessage::State::released;
        owner.reason = reason;
      });
  } catch (const std::exception& error) {
    log(LogLevel::warning,
        "cluster: stream " + quote(id_) + " is not given back: " + bounded_text(error.what()));
  }
  context_.events.tell(is_lost ? "stream lost"
                               : "stream " + std::string(end == End::ended    ? "ended"
                                                         : end == End::failed ? "failed"
                                                                              : "released"),
                       {{"stream", id_}, {"epoch", epoch_.epoch}, {"reason", reason}});
  pipeline_.reset();
  const MutexLock lock(mutex_);
  end_ = is_lost ? End::lost : end;
  reason_ = reason;
}

}  // namespace vcap
