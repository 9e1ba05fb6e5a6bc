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
#include "capsule/backend_pool.hpp"
#include "capsule/call_observer.hpp"
#include "capsule/config_schema.hpp"
#include "capsule/device_names.hpp"
#include "capsule/device_sets.hpp"
#include "capsule/host_guard.hpp"
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
  const DeviceMapper mapper =
      set ? DeviceMapper::map_to_device_sets(set->kind, set->count) : info.device_mapper;
  try {
    detail::DeviceDivision division{.sets = mapper.map(available)};
    if (!set) return division;
    division.left_over = detail::divide(available, *set).left_over;
    log(LogLevel::info, "capsule " + info.name + ": " + detail::division_text(division, *set));
    return division;
  } catch (const DeviceError& error) {
    throw DeviceError(error.code(), "capsule " + info.name + ": " + error.what());
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

}  // namespace

struct Capsule::Impl {
  Impl(CapsuleInfo given, std::unique_ptr<BaseCapsule> made, Setup setup)
      : info(std::move(given)),
        subject("capsule " + info.name),
        defaults(info.options, "capsule " + info.name),
        division(mapped_devices(info, setup)),
        files(std::move(setup.files)),
        author(with_resources(std::move(made), files, info.name, division.sets)),
        backends(*author, files, info, division.sets) {
    if (info.stream_state) states.emplace(info);
  }

  const OptionValues& options_for_call(const OptionValues& given) const;
  void refuse_if_closed() const;
  void check_callable() const VCAP_REQUIRES_SHARED(in_use);
  detail::StreamStates::Turn take_turn(const Frame& frame, StreamRef stream);
  template <class Call>
  auto run(const Frame& frame, const OptionValues& options, StreamRef stream, Call call);
  DetectionNodes process_window(const Frame& frame, std::span<const Frame> window,
                                std::span<DetectionNodes> nodes, const OptionValues& options,
                                StreamRef stream);
  DetectionNodes process_alone(const Frame& frame, const DetectionNodes& nodes,
                               const OptionValues& options, StreamRef stream);
  void close() VCAP_EXCLUDES(in_use);
  void check_size(NodeDescription::Size got, NodeDescription::Size expected,
                  std::string_view verb) const;

  const CapsuleInfo info;
  std::string subject;  ///< for messages
  const OptionValues defaults;
  const detail::DeviceDivision division;
  const CapsuleFiles files;
  const std::unique_ptr<BaseCapsule> author;  // outlives its backends; they outlive the states
  detail::BackendPool backends VCAP_GUARDED_BY(in_use);
  std::optional<detail::StreamStates> states;  ///< absent for a stateless capsule
  BaseStreamState no_state;                    ///< what a stateless capsule's backend gets

  // Calls hold `in_use` shared; close() takes it exclusively and so waits for them. Meanwhile
  // `closed` rejects new calls, which could otherwise keep close() waiting forever.
  std::atomic<bool> closed = false;
  SharedMutex in_use;
};

detail::StreamStates::Turn Capsule::Impl::take_turn(const Frame& frame, StreamRef stream) {
  if (!stream.opening()) return states->take_turn(stream.id(), frame);
  if (!states || !*stream.opening())
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "capsule " + info.name +
            " cannot use the StreamHandle: it is null, or the capsule is stateless; "
            "give the stream's id, or a handle of this capsule's open_stream()");
  return states->take_turn(*stream.opening(), frame);
}

/// Common to all ways to process frames: `call` gets the backend, the options and the state.
template <class Call>
auto Capsule::Impl::run(const Frame& frame, const OptionValues& options, StreamRef stream,
                        Call call) {
  refuse_if_closed();  // so that a call does not wait for a close() in progress
  const SharedLock call_lock(in_use);
  check_callable();
  if (frame.is_null)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "capsule " + info.name + " was given frame " +
                              std::to_string(frame.index) +
                              ", which is null; leave it out, as pipelines do");
  const OptionValues& values = options_for_call(options);
  std::optional<detail::StreamStates::Turn> turn;
  if (states || stream.opening()) turn.emplace(take_turn(frame, stream));
  BaseStreamState& state = turn ? turn->state() : no_state;
  const BatchStreamScope scope(stream.opening() ? std::string_view((*stream.opening())->info.id)
                                                : stream.id());
  // Chosen after the wait for the turn: a backend that was idle before may be busy now.
  const auto backend = backends.lease_least_busy();
  const detail::ObservedBackend observed(backend.device());
  return call(*backend, values, state);
}

DetectionNodes Capsule::Impl::process_window(const Frame& frame, std::span<const Frame> window,
                                             std::span<DetectionNodes> nodes,
                                             const OptionValues& options, StreamRef stream) {
  DetectionNodes result =
      run(frame, options, stream,
          [&](Backend& backend, const OptionValues& values, BaseStreamState& state) {
            return backend.process_window(window, nodes, values, state);
          });
  check_size(result.kind(), info.output_type.size, "returned");
  return result;
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

void Capsule::Impl::check_size(NodeDescription::Size got, NodeDescription::Size expected,
                               std::string_view verb) const {
  if (got == expected) return;
  throw TypeMismatch("capsule " + info.name + " " + std::string(verb) + " nodes of size " +
                     std::string(to_string(got)) + "; its declared size is " +
                     std::string(to_string(expected)));
}

Capsule::Capsule(CapsuleInfo info, std::unique_ptr<BaseCapsule> author, Setup setup) {
  if (!author)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "capsule " + info.name + " was given a null BaseCapsule; give an object");
  if (setup.batch) info.batch = setup.batch;
  check(info);
  // Reading only the description needs no config.
  if (setup.inference_mode || !setup.config.empty())
    author->config_ = detail::completed_config(info, std::move(setup.config));
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

const CapsuleInfo& Capsule::info() const noexcept { return impl_->info; }

NodeDescription Capsule::capability() const {
  return info().output_type.difference(info().input_type);
}

OptionValues Capsule::default_options() const { return impl_->defaults; }

std::vector<std::string> Capsule::devices() const { return impl_->division.sets; }

std::vector<std::string> Capsule::unused_devices() const { return impl_->division.left_over; }

DetectionNodes Capsule::process_frame(const Frame& frame, DetectionNodes nodes,
                                      const OptionValues& options, StreamRef stream) {
  impl_->check_size(nodes.kind(), info().input_type.size, "was given");
  if (info().stencil) return impl_->process_alone(frame, nodes, options, stream);
  DetectionNodes result =
      impl_->run(frame, options, stream,
                 [&](Backend& backend, const OptionValues& values, BaseStreamState& state) {
                   return backend.process_frame(frame, std::move(nodes), values, state);
                 });
  impl_->check_size(result.kind(), info().output_type.size, "returned");
  return result;
}

DetectionNodes Capsule::process_window(const Frame& frame, std::span<const Frame> window,
                                       std::span<DetectionNodes> nodes, const OptionValues& options,
                                       StreamRef stream) {
  const CapsuleInfo& info = this->info();
  const std::size_t places = info.stencil ? info.stencil->offsets.size() : 0;
  if (places == 0 || window.size() != places || nodes.size() != places)
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "capsule " + name() + " was given a window of " + std::to_string(window.size()) +
            " frames and " + std::to_string(nodes.size()) + " lists of nodes; " +
            (places == 0 ? "it has no stencil: give it a frame"
                         : "give " + std::to_string(places) + " of each, as its stencil says"));
  const NodeDescription::Size taken = info.input_type.size;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool has_none = taken == NodeDescription::Size::single && info.stencil->offsets[i] != 0;
    impl_->check_size(nodes[i].kind(), has_none ? NodeDescription::Size::none : taken, "was given");
  }
  return impl_->process_window(frame, window, nodes, options, stream);
}

std::optional<std::vector<DetectionNodes>> Capsule::process_frames(std::span<const Frame> frames,
                                                                   std::span<DetectionNodes> nodes,
                                                                   const OptionValues& options,
                                                                   StreamRef stream) {
  if (frames.empty() || nodes.size() != frames.size() || impl_->states)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "capsule " + name() + " was given " + std::to_string(frames.size()) +
                              " frames and " + std::to_string(nodes.size()) + " lists of nodes" +
                              (impl_->states ? "; it is stateful and takes frames one by one"
                                             : "; give as many of each, at least one"));
  for (const DetectionNodes& one : nodes)
    impl_->check_size(one.kind(), info().input_type.size, "was given");
  auto results = impl_->run(frames.front(), options, stream,
                            [&](Backend& backend, const OptionValues& values, BaseStreamState&) {
                              return backend.process_frames(frames, nodes, values);
                            });
  if (!results) return results;
  if (results->size() != frames.size())
    throw TypeMismatch("capsule " + name() + " returned " + std::to_string(results->size()) +
                       " results for " + std::to_string(frames.size()) + " frames");
  for (const DetectionNodes& one : *results)
    impl_->check_size(one.kind(), info().output_type.size, "returned");
  return results;
}

StreamHandle Capsule::open_stream(StreamInfo info) {
  if (impl_->states) return impl_->states->open(std::move(info));
  detail::completed_stream_config(impl_->info, std::move(info.config), info.id);
  return nullptr;
}

StreamHandle Capsule::open_apart(StreamInfo info) {
  if (impl_->states) return impl_->states->make(std::move(info));
  detail::completed_stream_config(impl_->info, std::move(info.config), info.id);
  return nullptr;
}

void Capsule::clean_up(std::string_view stream_id) {
  if (impl_->states) impl_->states->clean_up(stream_id);
}

nlohmann::json Capsule::save_state(std::string_view stream_id) const {
  return impl_->states ? impl_->states->save(stream_id) : nlohmann::json();
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
