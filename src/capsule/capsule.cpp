// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/capsule.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/other_mutexes.hpp"
#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "capsule/author_settings.hpp"
#include "capsule/backend_pool.hpp"
#include "capsule/call_observer.hpp"
#include "capsule/config_schema.hpp"
#include "capsule/current_capsule.hpp"
#include "capsule/device_names.hpp"
#include "capsule/device_sets.hpp"
#include "capsule/frame_check.hpp"
#include "capsule/host_guard.hpp"
#include "capsule/host_stencil.hpp"
#include "capsule/levels.hpp"
#include "capsule/output_check.hpp"
#include "capsule/output_report.hpp"
#include "capsule/passed_on.hpp"
#include "capsule/picture_check.hpp"
#include "capsule/stream_states.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/batching/batch_stream_scope.hpp"
#include "vcap/capsule/device.hpp"

namespace vcap {
namespace {

std::vector<std::string> available_devices(const Capsule::Setup& setup,
                                           const std::string& capsule) {
  if (!setup.devices.empty()) {
    detail::check_device_names(setup.devices, "devices given to capsule " + capsule);
    return setup.devices;
  }
  std::vector<std::string> names;
  for (Device& device : discover_devices()) names.push_back(std::move(device.name));
  return names;
}

/// The devices that get a backend, and those left over by CapsuleInfo::device_set.
detail::DeviceDivision mapped_devices(const CapsuleInfo& info, const Capsule::Setup& setup) {
  if (!setup.inference_mode) return {};
  const std::vector<std::string> available = available_devices(setup, info.name);
  const std::optional<DeviceSet>& set = info.device_set;
  const DeviceMapper mapper = set ? DeviceMapper::map_to_device_sets(*set) : info.device_mapper;
  try {
    detail::DeviceDivision division{.sets = mapper.map(available)};
    if (!set) return division;
    division.left_over = detail::divide(available, *set).left_over;
    log(LogLevel::info, "capsule " + info.name + ": " + detail::division_text(division, *set));
    return division;
  } catch (const DeviceError& error) {
    throw DeviceError(error.code(), "capsule " + info.name + ": " + bounded_text(error.what()));
  } catch (...) {
    throw CapsuleLoadError(ErrorCode::capsule_threw,
                           "capsule " + info.name + ": device mapper " + mapper.name() +
                               " failed: " + exception_text(std::current_exception()));
  }
}

/// Returns the author, after fetch_resources if there will be backends.
std::unique_ptr<BaseCapsule> with_resources(std::unique_ptr<BaseCapsule> author,
                                            const CapsuleFiles& files, const std::string& capsule,
                                            const std::vector<std::string>& devices) {
  try {
    if (!devices.empty()) author->fetch_resources(files);
    return author;
  } catch (...) {
    throw CapsuleLoadError(ErrorCode::capsule_threw, "capsule " + capsule +
                                                         ": fetch_resources failed: " +
                                                         exception_text(std::current_exception()));
  }
}

/// Writes a warning to the log when it is destroyed, if there is one by then.
class LateWarning {
 public:
  LateWarning() = default;
  LateWarning(const LateWarning&) = delete;
  LateWarning& operator=(const LateWarning&) = delete;
  ~LateWarning() {
    try {
      if (!text.empty()) log(LogLevel::warning, text);
    } catch (...) {
      // No memory for the log; the warning is lost.
    }
  }

  std::string text{};
};

}  // namespace

struct Capsule::Impl {
  Impl(CapsuleInfo given, std::unique_ptr<BaseCapsule> made, Setup setup)
      : info(std::move(given)),
        subject("capsule " + info.name),
        defaults(info.options, "capsule " + info.name),
        division(mapped_devices(info, setup)),
        files(std::move(setup.files)),
        outputs(setup.outputs),
        output_check(info),
        picture_check(info),
        author(with_resources(std::move(made), files, info.name, division.sets)),
        backends(*author, files, info, division.sets) {
    if (info.stream_state || info.stream_parameters) states.emplace(info);
  }

  const OptionValues& options_for_call(const OptionValues& given) const;
  void refuse_if_closed() const;
  void check_callable() const VCAP_REQUIRES_SHARED(in_use);
  void check_opening(StreamRef stream) const;
  detail::StreamStates::Turn take_turn(const Frame& frame, StreamRef stream);
  detail::StreamStates::Parameters parameters(const Frame& frame, StreamRef stream);
  class Gate;
  template <class Call>
  auto run(const Frame& frame, const OptionValues& options, StreamRef stream, Call call);
  DetectionNodes process_window(const Frame& frame, std::span<const Frame> window,
                                std::span<DetectionNodes> nodes, const OptionValues& options,
                                StreamRef stream);
  void check_window(std::span<const Frame> window, std::span<const DetectionNodes> nodes) const;
  void check_together(std::size_t frames, std::size_t others, std::string_view what) const;
  DetectionNodes process_alone(const Frame& frame, const DetectionNodes& nodes,
                               const OptionValues& options, StreamRef stream);
  void close() VCAP_EXCLUDES(in_use);
  void check_levels(const DetectionNodes& given) const;
  void check_size(NodeDescription::Size got, NodeDescription::Size expected,
                  std::string_view verb) const;

  const CapsuleInfo info;
  std::string subject;  ///< for messages
  const OptionValues defaults;
  const detail::DeviceDivision division;
  const CapsuleFiles files;
  const OutputPolicy outputs;
  const detail::OutputCheck output_check;
  const detail::PictureCheck picture_check;
  std::atomic<bool> has_warned = false;       ///< of output; the log has only the first warning
  const std::unique_ptr<BaseCapsule> author;  // outlives its backends; they outlive the states
  detail::BackendPool backends VCAP_GUARDED_BY(in_use);
  /// Absent for a capsule that has neither states nor parameters of streams.
  std::optional<detail::StreamStates> states;
  BaseStreamState no_state;  ///< what the backend of such a capsule gets

  // Calls hold `in_use` shared; close() takes it exclusively and so waits for them. Meanwhile
  // `closed` rejects new calls, which could otherwise keep close() waiting forever.
  std::atomic<bool> closed = false;
  SharedMutex in_use;
};

/// Throws InvalidArgument if it is a handle that is not from this capsule.
void Capsule::Impl::check_opening(StreamRef stream) const {
  if (stream.opening() && (!states || !*stream.opening()))
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "capsule " + info.name +
            " cannot use the StreamHandle: it is null, or the capsule is stateless; "
            "give the stream's id, or a handle of this capsule's open_stream()");
}

detail::StreamStates::Turn Capsule::Impl::take_turn(const Frame& frame, StreamRef stream) {
  if (!stream.opening()) {
    if (stream.id().empty())
      throw InvalidArgument(
          ErrorCode::invalid_argument,
          "capsule " + info.name + " keeps a state for each stream, but for frame " +
              std::to_string(frame.index) +
              " the stream's id is \"\"; give the id, such as process_frame(frame, nodes, options, "
              "\"door\"), or a handle of open_stream()");
    return states->take_turn(stream.id(), frame);
  }
  return states->take_turn(*stream.opening(), frame);
}

detail::StreamStates::Parameters Capsule::Impl::parameters(const Frame& frame, StreamRef stream) {
  return stream.opening() ? states->parameters(*stream.opening(), frame)
                          : states->parameters(stream.id(), frame);
}

/// Where nodes and pictures enter a capsule and leave it, for one call: the only place at which its
/// output is checked. Borrows what it is made from.
class Capsule::Impl::Gate {
 public:
  /// `of_state`: what was passed on since the stream's state was made; null if there is no state.
  /// `to_log`: gets a warning for the log, which must be written with no lock held.
  Gate(Impl& capsule, const detail::OutputDemand& demand, detail::PassedOn* of_state,
       std::string& to_log)
      : capsule_(capsule),
        demand_(demand),
        policy_(demand.policy != nullptr ? *demand.policy : capsule.outputs),
        of_state_(of_state),
        to_log_(to_log) {}

  /// To be called before the backend gets the nodes, since it may change them. Pictures that
  /// another capsule gave with them are left behind: they are no output of this one.
  void let_in(DetectionNodes& nodes) { let_in(nodes, passed_on()); }
  void let_in(DetectionNodes& nodes, detail::PassedOn& passed_on) const {
    if (!nodes.pictures().empty()) static_cast<void>(nodes.take_pictures());
    if (policy_.invalid != InvalidOutput::off) capsule_.output_check.note(nodes, passed_on);
  }

  /// Returns the output for this frame. Throws TypeMismatch or Error (invalid_output).
  DetectionNodes let_out(DetectionNodes output, const Frame& frame) {
    check(output, passed_on(), frame.image.size(), 0);
    return output;
  }
  /// The same for several frames; `passed_on` is that of each.
  std::vector<DetectionNodes> let_out(std::vector<DetectionNodes> results,
                                      std::span<const detail::PassedOn> passed_on,
                                      std::span<const Frame> frames) const {
    try {
      if (results.size() != passed_on.size())
        throw TypeMismatch("capsule " + capsule_.info.name + " returned " +
                           counted(results.size(), "result") + " for " +
                           counted(passed_on.size(), "frame"));
      for (std::size_t i = 0; i < results.size(); ++i)
        check(results[i], passed_on[i], frames[i].image.size(), i);
    } catch (...) {
      for (DetectionNodes& one : results) detail::discard(std::move(one));
      throw;
    }
    return results;
  }

 private:
  detail::PassedOn& passed_on() noexcept { return of_state_ != nullptr ? *of_state_ : of_call_; }

  /// `frame`: its number among those of the call.
  void check(DetectionNodes& output, const detail::PassedOn& passed_on, cv::Size frame_size,
             std::size_t frame) const {
    std::string warning;
    detail::NodesSize size;
    try {
      capsule_.check_size(output.kind(), capsule_.info.output_type.size, "returned");
      size = capsule_.output_check.check(output, passed_on, policy_, warning);
      size.bytes += capsule_.picture_check.check(output.pictures(), frame_size, policy_, warning);
    } catch (...) {
      detail::discard(std::move(output));
      throw;
    }
    if (frame < demand_.reports.size())
      demand_.reports[frame] = {.size = size, .warning = std::move(warning)};
    else if (!warning.empty() && !capsule_.has_warned.exchange(true))
      to_log_ = warning + "; further output like this is not reported";
  }

  Impl& capsule_;
  const detail::OutputDemand demand_;
  const OutputPolicy& policy_;
  detail::PassedOn* const of_state_;
  std::string& to_log_;
  detail::PassedOn of_call_{};
};

/// Common to all ways to process frames: `call` gets the backend, the options, the state and the
/// gate.
template <class Call>
auto Capsule::Impl::run(const Frame& frame, const OptionValues& options, StreamRef stream,
                        Call call) {
  const detail::OutputDemand demand = detail::take_output_demand();
  LateWarning warning;  // before the locks, so that it is destroyed after them
  refuse_if_closed();   // so that a call does not wait for a close() in progress
  const SharedLock call_lock(in_use);
  check_callable();
  detail::check_frame(frame, info.name);
  picture_check.require(frame);
  const OptionValues& values = options_for_call(options);
  const CurrentCapsule current(subject);
  check_opening(stream);
  std::optional<detail::StreamStates::Turn> turn;
  std::optional<detail::StreamStates::Parameters> shared;
  if (info.stream_state) turn.emplace(take_turn(frame, stream));
  if (info.stream_parameters) shared.emplace(parameters(frame, stream));
  BaseStreamState& state = turn ? turn->state() : shared ? shared->get() : no_state;
  Gate gate(*this, demand, turn ? &turn->passed_on() : nullptr, warning.text);
  const BatchStreamScope scope(stream.opening() ? std::string_view((*stream.opening())->info.id)
                                                : stream.id());
  // Chosen after the wait for the turn: a backend that was idle before may be busy now.
  const auto backend = backends.lease_least_busy();
  const detail::ObservedBackend observed(backend.device());
  return call(*backend, values, state, gate);
}

DetectionNodes Capsule::Impl::process_window(const Frame& frame, std::span<const Frame> window,
                                             std::span<DetectionNodes> nodes,
                                             const OptionValues& options, StreamRef stream) {
  return run(frame, options, stream,
             [&](Backend& backend, const OptionValues& values, BaseStreamState& state, Gate& gate) {
               for (DetectionNodes& of_frame : nodes) gate.let_in(of_frame);
               return gate.let_out(backend.process_window(window, nodes, values, state), frame);
             });
}

/// Runs a window for a stream with only this frame; all other places are beyond its edges.
DetectionNodes Capsule::Impl::process_alone(const Frame& frame, const DetectionNodes& nodes,
                                            const OptionValues& options, StreamRef stream) {
  const Stencil& stencil = *info.stencil;
  const bool repeats = stencil.edge == StencilEdge::repeat;
  const bool takes_all = info.input_type.size == NodeDescription::Size::all;
  std::vector<Frame> window;
  std::vector<DetectionNodes> window_nodes;
  for (const int offset : stencil.offsets) {
    if (offset != 0 && stencil.edge == StencilEdge::error)
      throw Error(ErrorCode::stencil_edge,
                  "capsule " + info.name + " needs the frame at offset " + std::to_string(offset) +
                      ", but was given only frame " + std::to_string(frame.index) +
                      "; give a window to process_window()");
    const bool is_present = offset == 0;
    window.push_back(is_present || repeats ? frame : Frame{.is_null = true});
    if (is_present || (takes_all && repeats))
      window_nodes.push_back(nodes);
    else
      window_nodes.push_back(takes_all ? DetectionNodes::all() : DetectionNodes::none());
  }
  return process_window(frame, window, window_nodes, options, stream);
}

/// Throws InvalidArgument or TypeMismatch unless it is a window of the stencil.
void Capsule::Impl::check_window(std::span<const Frame> window,
                                 std::span<const DetectionNodes> nodes) const {
  const std::size_t places = info.stencil ? info.stencil->offsets.size() : 0;
  if (places == 0 || window.size() != places || nodes.size() != places)
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "capsule " + info.name + " was given a window of " + counted(window.size(), "frame") +
            " and " + counted(nodes.size(), "list") + " of nodes; " +
            (places == 0 ? "it has no stencil: give it a frame"
                         : "give " + std::to_string(places) + " of each, as its stencil says"));
  const NodeDescription::Size taken = info.input_type.size;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool has_none = taken == NodeDescription::Size::single && info.stencil->offsets[i] != 0;
    check_size(nodes[i].kind(), has_none ? NodeDescription::Size::none : taken, "was given");
    check_levels(nodes[i]);
  }
  for (const Frame& neighbour : window)
    if (!neighbour.is_null) detail::check_frame(neighbour, info.name);
}

/// Throws InvalidArgument unless frames may go together, and there is one of the others for each.
void Capsule::Impl::check_together(std::size_t frames, std::size_t others,
                                   std::string_view what) const {
  if (frames > 0 && others == frames && !info.stream_state) return;
  throw InvalidArgument(ErrorCode::invalid_argument,
                        "capsule " + info.name + " was given " + counted(frames, "frame") +
                            " and " + std::to_string(others) + " " + std::string(what) +
                            (info.stream_state ? "; it is stateful and takes frames one by one"
                                               : "; give as many of each, at least one"));
}

void Capsule::Impl::refuse_if_closed() const {
  if (closed)
    throw BatchError(ErrorCode::closed,
                     "capsule " + info.name + " is closed; load it again to run more frames");
}

void Capsule::Impl::check_callable() const {
  refuse_if_closed();
  if (backends.empty())
    throw CapsuleLoadError(
        ErrorCode::no_backend,
        "capsule " + info.name + " has no backend; load it with inference_mode = true to run it");
}

const OptionValues& Capsule::Impl::options_for_call(const OptionValues& given) const {
  // Copies of default_options() share its declaration, so this rarely has to compare.
  if (&given.declared() == &defaults.declared()) return given;
  if (given.declared().empty()) return defaults;
  if (given.declared() == defaults.declared()) return given;
  for (const auto& [name, option] : given.declared())
    if (!info.options.contains(name))
      throw OptionError(ErrorCode::unknown_option, "option " + quote(name) +
                                                       " is unknown to capsule " + info.name +
                                                       "; start from its own default_options()");
  throw OptionError(ErrorCode::unknown_option,
                    "the options given to capsule " + info.name +
                        " have other declarations than its own; start from its default_options()");
}

/// Throws InvalidArgument if there are so many levels that a copy would exhaust the stack.
void Capsule::Impl::check_levels(const DetectionNodes& given) const {
  if (!detail::has_more_levels(given)) return;
  throw InvalidArgument(ErrorCode::invalid_node,
                        "capsule " + info.name + " was given nodes or extra data of more than " +
                            std::to_string(detail::kMostLevels) + " levels; give fewer");
}

void Capsule::Impl::check_size(NodeDescription::Size got, NodeDescription::Size expected,
                               std::string_view verb) const {
  if (got == expected) return;
  const bool forgets_nodes = verb == "returned" && got == NodeDescription::Size::none &&
                             info.input_type.size != NodeDescription::Size::none;
  throw TypeMismatch(
      "capsule " + info.name + " " + std::string(verb) + " nodes of size " +
      std::string(to_string(got)) + "; its declared size is " + std::string(to_string(expected)) +
      (forgets_nodes ? "; it can change the nodes that it was given, and return them" : ""));
}

Capsule::Capsule(CapsuleInfo info, std::unique_ptr<BaseCapsule> author, Setup setup) {
  if (!author)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "capsule " + info.name + " was given a null BaseCapsule; give an object");
  if (setup.batch) info.batch = setup.batch;
  check(info);
  if (setup.stencil) info = with_stencil(std::move(info), *setup.stencil);
  check(setup.outputs);
  // Reading only the description needs no config.
  if (setup.inference_mode || !setup.config.empty())
    detail::AuthorSettings::set_config(*author,
                                       detail::completed_config(info, *std::move(setup.config)));
  detail::AuthorSettings::set_stencil(*author, info.stencil);
  const std::string subject = "capsule " + info.name;
  std::optional<detail::HostGuard> guard;
  if (setup.inference_mode) guard.emplace(subject);
  impl_ = std::make_unique<Impl>(std::move(info), std::move(author), std::move(setup));
}

Capsule::~Capsule() {
  const std::string subject = std::move(impl_->subject);  // outlives impl_
  const detail::HostGuard guard(subject);
  impl_->close();
  impl_.reset();  // also destroys the author's object and its library's resources
}

const CapsuleInfo& Capsule::info() const& noexcept { return impl_->info; }

const OutputPolicy& Capsule::output_policy() const& noexcept { return impl_->outputs; }

NodeDescription Capsule::capability() const {
  return info().output_type.difference(info().input_type);
}

OptionValues Capsule::default_options() const { return impl_->defaults; }

std::vector<std::string> Capsule::devices() const { return impl_->division.sets; }

std::vector<std::string> Capsule::unused_devices() const { return impl_->division.left_over; }

DetectionNodes Capsule::process_frame(const Frame& frame, DetectionNodes nodes,
                                      const OptionValues& options, StreamRef stream) {
  impl_->check_size(nodes.kind(), info().input_type.size, "was given");
  try {
    impl_->check_levels(nodes);
  } catch (...) {
    detail::discard(std::move(nodes));
    throw;
  }
  if (info().stencil) return impl_->process_alone(frame, nodes, options, stream);
  return impl_->run(
      frame, options, stream,
      [&](Backend& backend, const OptionValues& values, BaseStreamState& state, Impl::Gate& gate) {
        gate.let_in(nodes);
        return gate.let_out(backend.process_frame(frame, std::move(nodes), values, state), frame);
      });
}

DetectionNodes Capsule::process_window(const Frame& frame, std::span<const Frame> window,
                                       std::span<DetectionNodes> nodes, const OptionValues& options,
                                       StreamRef stream) {
  impl_->check_window(window, nodes);
  return impl_->process_window(frame, window, nodes, options, stream);
}

std::optional<std::vector<DetectionNodes>> Capsule::process_frames(std::span<const Frame> frames,
                                                                   std::span<DetectionNodes> nodes,
                                                                   const OptionValues& options,
                                                                   StreamRef stream) {
  impl_->check_together(frames.size(), nodes.size(), "lists of nodes");
  for (const DetectionNodes& one : nodes) {
    impl_->check_size(one.kind(), info().input_type.size, "was given");
    impl_->check_levels(one);
  }
  for (const Frame& frame : frames) detail::check_frame(frame, name());
  for (const Frame& frame : frames) impl_->picture_check.require(frame);
  return impl_->run(
      frames.front(), options, stream,
      [&](Backend& backend, const OptionValues& values, BaseStreamState& state, Impl::Gate& gate) {
        std::vector<detail::PassedOn> passed_on(frames.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) gate.let_in(nodes[i], passed_on[i]);
        auto results = backend.process_frames(frames, nodes, values, state);
        if (!results) return results;
        return std::optional(gate.let_out(*std::move(results), passed_on, frames));
      });
}

std::optional<std::vector<DetectionNodes>> Capsule::process_windows(
    std::span<const Frame> frames, std::span<const FrameWindow> windows,
    const OptionValues& options, StreamRef stream) {
  impl_->check_together(frames.size(), windows.size(), "windows");
  for (const FrameWindow& window : windows) impl_->check_window(window.frames, window.nodes);
  for (const Frame& frame : frames) detail::check_frame(frame, name());
  for (const Frame& frame : frames) impl_->picture_check.require(frame);
  return impl_->run(
      frames.front(), options, stream,
      [&](Backend& backend, const OptionValues& values, BaseStreamState& state, Impl::Gate& gate) {
        std::vector<detail::PassedOn> passed_on(windows.size());
        for (std::size_t i = 0; i < windows.size(); ++i)
          for (DetectionNodes& nodes : windows[i].nodes) gate.let_in(nodes, passed_on[i]);
        auto results = backend.process_windows(windows, values, state);
        if (!results) return results;
        return std::optional(gate.let_out(*std::move(results), passed_on, frames));
      });
}

StreamHandle Capsule::open_stream(StreamInfo info) {
  const CurrentCapsule current(impl_->subject);
  if (impl_->states) return impl_->states->open(std::move(info));
  detail::completed_stream_config(impl_->info, *std::move(info.config), info.id);
  return nullptr;
}

StreamHandle Capsule::open_apart(StreamInfo info) {
  const CurrentCapsule current(impl_->subject);
  if (impl_->states) return impl_->states->make(std::move(info));
  detail::completed_stream_config(impl_->info, *std::move(info.config), info.id);
  return nullptr;
}

void Capsule::clean_up(std::string_view stream_id) {
  const CurrentCapsule current(impl_->subject);
  if (impl_->states) impl_->states->clean_up(stream_id);
}

nlohmann::json Capsule::save_state(std::string_view stream_id) const {
  const CurrentCapsule current(impl_->subject);
  return impl_->states ? impl_->states->save(stream_id) : nlohmann::json();
}

bool Capsule::get_state(StreamRef stream,
                        const std::function<void(const BaseStreamState&)>& read) const {
  const SharedLock lock(impl_->in_use);  // the state may use what its backends hold
  impl_->check_opening(stream);
  if (!impl_->info.stream_state || impl_->closed) return false;
  const std::shared_ptr<detail::OpenStream> opening =
      stream.opening() ? *stream.opening() : impl_->states->find(stream.id());
  return opening && detail::read_state(*opening, read);
}

std::size_t Capsule::stream_count() const { return impl_->states ? impl_->states->size() : 0; }

std::vector<float> Capsule::distances(std::span<const float> encoding,
                                      std::span<const std::vector<float>> others) const {
  impl_->refuse_if_closed();
  const SharedLock lock(impl_->in_use);
  impl_->check_callable();
  if (!impl_->info.output_type.encoded)
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "capsule " + name() + " makes no encodings; use a capsule whose output is encoded");
  std::vector<float> result = impl_->backends.first().distances(encoding, others);
  if (result.size() != others.size())
    throw TypeMismatch("capsule " + name() + " returned " + std::to_string(result.size()) +
                       " distances for " + std::to_string(others.size()) + " encodings");
  return result;
}

double Capsule::workload() const noexcept {
  const SharedLock lock(impl_->in_use);
  return impl_->backends.workload();
}

std::vector<BackendStatistics> Capsule::backends() const {
  const SharedLock lock(impl_->in_use);
  return impl_->backends.statistics();
}

void Capsule::Impl::close() {
  closed = true;
  std::vector<std::string> errors;
  {
    // Held meanwhile, so that every close() returns only once the backends are closed.
    const ExclusiveLock lock(in_use);
    errors = backends.close();
    if (states) states->clear();
  }
  for (const std::string& error : errors) log(LogLevel::error, error);
}

void Capsule::close() {
  const detail::HostGuard guard(impl_->subject);
  impl_->close();
}

}  // namespace vcap
