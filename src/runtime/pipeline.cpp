// SPDX-License-Identifier: Apache-2.0
#include "vcap/runtime/pipeline.hpp"

#include <algorithm>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "capsule/stream_states.hpp"
#include "runtime/program.hpp"
#include "runtime/stream.hpp"
#include "runtime/work_pool.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

std::size_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }

/// Some three full batches; beyond it, streams share the workers that there are.
constexpr std::size_t kMostWorkers = 128;

/// Workers mostly wait for batches, and only a frame that has one can be part of a batch: one for
/// each frame in flight.
std::size_t automatic_workers(std::size_t frames_in_flight) {
  return std::max(2 * cores(), std::min(frames_in_flight, kMostWorkers));
}

/// What one stream needs to fill batches and cores by itself, as far as 64 MiB of pixels go: 32
/// frames of 768 × 576, 10 of 1080p. A live stream has fewer, since each that waits is latency.
std::size_t automatic_frames_in_flight(const SourceInfo& info) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  constexpr std::size_t kUnknownFrame = std::size_t{1920} * 1080 * 3;
  const std::size_t least = std::max<std::size_t>(4, 2 * cores());
  if (info.live || least >= 32) return least;
  const std::size_t frame = info.size.area() > 0
                                ? static_cast<std::size_t>(info.size.width) *
                                      static_cast<std::size_t>(info.size.height) * 3
                                : kUnknownFrame;
  return std::clamp<std::size_t>(kBytes / frame, least, 32);
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::vector<CapsuleInfo> infos_of(const std::vector<std::shared_ptr<Capsule>>& capsules) {
  std::vector<CapsuleInfo> infos;
  for (const std::shared_ptr<Capsule>& capsule : capsules) {
    if (!capsule)
      throw InvalidArgument(ErrorCode::invalid_argument,
                            "a pipeline was given no capsule at place " +
                                std::to_string(infos.size() + 1) + ": the pointer is empty");
    infos.push_back(capsule->info());
  }
  return infos;
}

Program program_of(const Plan& plan, const std::vector<std::shared_ptr<Capsule>>& capsules) {
  Program program;
  std::map<std::string, std::string> givers;
  for (const Plan::Step& step : plan.steps()) {
    const std::shared_ptr<Capsule>& capsule = capsules[step.capsule];
    if (capsule->devices().empty())
      throw CapsuleLoadError(ErrorCode::no_backend,
                             "capsule " + step.name +
                                 " was loaded without inference_mode and cannot process frames; "
                                 "load it with inference_mode = true");
    program.push_back({.capsule = capsule,
                       .needs = step.needs,
                       .stateful = static_cast<bool>(capsule->info().stream_state),
                       .attribute_givers = givers});
    for (const auto& [category, values] : capsule->info().output_type.attributes)
      givers[category] = step.name;
  }
  return program;
}

/// Looks up a capsule's step; `what` stands in the message, such as "options".
std::size_t step_of(const Program& program, const std::string& capsule, const std::string& what) {
  std::string names;
  for (std::size_t step = 0; step < program.size(); ++step) {
    const std::string& name = program[step].capsule->name();
    if (name == capsule) return step;
    names += (names.empty() ? "" : ", ") + name;
  }
  throw InvalidArgument(ErrorCode::invalid_argument,
                        what + " of capsule " + capsule + ": the pipeline has no such capsule (" +
                            (names.empty() ? "it has none" : "it has " + names) + ")");
}

}  // namespace

struct Pipeline::Impl {
  std::vector<std::shared_ptr<Capsule>> capsules;
  Plan plan;
  std::shared_ptr<const Program> program;
  Settings settings;

  mutable std::mutex mutex;  ///< guards `streams`
  std::map<std::string, std::shared_ptr<Stream>> streams{};
  WorkPool pool;  ///< last: its workers end before what they work on does

  Impl(std::vector<std::shared_ptr<Capsule>> given, Settings wanted)
      : capsules(std::move(given)),
        plan(infos_of(capsules)),
        program(std::make_shared<const Program>(program_of(plan, capsules))),
        settings(wanted),
        pool(wanted.workers > 0 ? wanted.workers : automatic_workers(0)) {}

  std::shared_ptr<Stream> find(const std::string& id) const;
  std::shared_ptr<Stream> find_to_pull(const std::string& id) const;
  StepOptions options_of(const std::map<std::string, OptionValues>& given) const;
  void open_states(const StreamConfig& config, bool live);
  void clean_up_states(const std::string& id, std::size_t steps) noexcept;
  void start(StreamConfig config);
  StreamReport end(const std::shared_ptr<Stream>& stream);
};

std::shared_ptr<Stream> Pipeline::Impl::find(const std::string& id) const {
  const std::lock_guard lock(mutex);
  const auto found = streams.find(id);
  if (found == streams.end())
    throw SourceError(ErrorCode::unknown_stream, "stream " + id + " is not open");
  return found->second;
}

std::shared_ptr<Stream> Pipeline::Impl::find_to_pull(const std::string& id) const {
  std::shared_ptr<Stream> stream = find(id);
  if (!stream->rules().pull)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "stream " + id +
                              " gives its records to its sinks and none to next(); open it with "
                              "StreamConfig::pull");
  return stream;
}

StepOptions Pipeline::Impl::options_of(const std::map<std::string, OptionValues>& given) const {
  StepOptions options;
  for (const ProgramStep& step : *program) options.push_back(step.capsule->default_options());
  for (const auto& [name, values] : given) {
    OptionValues& place = options[step_of(*program, name, "options")];
    if (values.declared().empty()) continue;  // stands for the defaults
    if (values.declared() != place.declared())
      throw OptionError(ErrorCode::unknown_option,
                        "options of capsule " + name +
                            " were made for another capsule; start from its default_options()");
    place = values;
  }
  return options;
}

/// All or none: a state that is open already is another pipeline's, which has the same capsule.
void Pipeline::Impl::open_states(const StreamConfig& config, bool live) {
  std::size_t opened = 0;
  try {
    for (; opened < program->size(); ++opened) {
      const ProgramStep& step = (*program)[opened];
      if (!step.stateful) continue;
      StreamInfo info{.id = config.id, .seed = live ? random_seed() : detail::seed_of(config.id)};
      if (const auto own = config.config.find(step.capsule->name()); own != config.config.end())
        info.config = own->second;
      step.capsule->open_stream(std::move(info));
    }
  } catch (...) {
    clean_up_states(config.id, opened);
    throw;
  }
}

void Pipeline::Impl::clean_up_states(const std::string& id, std::size_t steps) noexcept {
  for (std::size_t i = 0; i < steps; ++i) try {
      if ((*program)[i].stateful) (*program)[i].capsule->clean_up(id);
    } catch (...) {
      // There is an error on its way to the host already, and this is not its cause.
    }
}

void Pipeline::Impl::start(StreamConfig config) {
  const SourceInfo info = config.source->info();
  const Stream::Rules rules{
      .overflow = config.overflow != OverflowPolicy::automatic ? config.overflow
                  : info.live                                  ? OverflowPolicy::drop_oldest
                                                               : OverflowPolicy::wait,
      .frames_in_flight =
          config.frames_in_flight > 0 ? config.frames_in_flight : automatic_frames_in_flight(info),
      .keep_every = config.keep_every,
      .max_frames = config.max_frames,
      .pull = config.pull,
      .quarantine = config.quarantine};
  StepOptions options = options_of(config.options);
  for (const auto& [capsule, json] : config.config) step_of(*program, capsule, "configuration");

  const std::lock_guard lock(mutex);
  if (streams.contains(config.id))
    throw SourceError(ErrorCode::duplicate_stream,
                      "stream " + config.id +
                          " is open already; choose another id, or call wait() or close_stream() "
                          "for the old one first");
  if (settings.workers == 0) {
    std::size_t in_flight = std::min(rules.frames_in_flight, kMostWorkers);
    for (const auto& [id, stream] : streams)
      in_flight += std::min(stream->rules().frames_in_flight, kMostWorkers);
    pool.raise_limit(automatic_workers(in_flight));
  }
  open_states(config, info.live);
  try {
    auto stream =
        std::make_shared<Stream>(config.id, std::move(config.source), std::move(config.sinks),
                                 program, std::move(options), rules, pool);
    streams.emplace(config.id, stream).first->second->start();
  } catch (...) {
    streams.erase(config.id);
    clean_up_states(config.id, program->size());
    throw;
  }
}

StreamReport Pipeline::Impl::end(const std::shared_ptr<Stream>& stream) {
  stream->wait_until_ended();
  stream->join();
  const std::lock_guard lock(mutex);
  // Another thread may have ended it too, and the id may be in use again.
  const auto found = streams.find(stream->id());
  if (found != streams.end() && found->second == stream) streams.erase(found);
  return stream->report();
}

Pipeline::Pipeline(std::vector<std::shared_ptr<Capsule>> capsules)
    : Pipeline(std::move(capsules), Settings{}) {}

Pipeline::Pipeline(std::vector<std::shared_ptr<Capsule>> capsules, Settings settings)
    : impl_(std::make_unique<Impl>(std::move(capsules), settings)) {}

Pipeline::~Pipeline() {
  stop();
  std::vector<std::shared_ptr<Stream>> open;
  {
    const std::lock_guard lock(impl_->mutex);
    for (const auto& [id, stream] : impl_->streams) open.push_back(stream);
  }
  for (const std::shared_ptr<Stream>& stream : open) {
    stream->discard_records();
    impl_->end(stream);
  }
}

const Plan& Pipeline::plan() const noexcept { return impl_->plan; }

void Pipeline::open_stream(StreamConfig config) {
  if (!config.source)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "stream " + config.id + " has no source; give it one of open_source()");
  if (std::find(config.sinks.begin(), config.sinks.end(), nullptr) != config.sinks.end())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "stream " + config.id + " has an empty pointer among its sinks");
  if (config.max_frames && *config.max_frames < 0)
    throw InvalidArgument(ErrorCode::invalid_argument, "max_frames of stream " + config.id + ": " +
                                                           std::to_string(*config.max_frames) +
                                                           " is not 0 or more");
  if (config.keep_every < 1)
    throw InvalidArgument(ErrorCode::invalid_argument, "keep_every of stream " + config.id + ": " +
                                                           std::to_string(config.keep_every) +
                                                           " is not 1 or more");
  if (config.quarantine.window.count() <= 0 || config.quarantine.pause.count() <= 0)
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "quarantine of stream " + config.id +
            ": its window and its pause are longer than 0; give 0 failures for no "
            "quarantine");
  impl_->start(std::move(config));
}

std::int64_t Pipeline::set_option(const std::string& stream_id, const std::string& capsule,
                                  const std::string& option, OptionValue value) {
  const std::size_t step = step_of(*impl_->program, capsule, "option \"" + option + "\"");
  return impl_->find(stream_id)->set_option(step, option, std::move(value));
}

std::optional<FrameRecord> Pipeline::next(const std::string& stream_id) {
  return impl_->find_to_pull(stream_id)->next();
}

std::optional<FrameRecord> Pipeline::try_next(const std::string& stream_id) {
  return impl_->find_to_pull(stream_id)->try_next();
}

StreamReport Pipeline::close_stream(const std::string& stream_id) {
  const std::shared_ptr<Stream> stream = impl_->find(stream_id);
  stream->stop();
  stream->discard_records();
  return impl_->end(stream);
}

StreamReport Pipeline::wait(const std::string& stream_id) {
  return impl_->end(impl_->find(stream_id));
}

std::vector<StreamReport> Pipeline::reports() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<StreamReport> reports;
  for (const auto& [id, stream] : impl_->streams) reports.push_back(stream->report());
  return reports;
}

void Pipeline::stop() noexcept {
  const std::lock_guard lock(impl_->mutex);
  for (const auto& [id, stream] : impl_->streams) stream->stop();
}

}  // namespace vcap
