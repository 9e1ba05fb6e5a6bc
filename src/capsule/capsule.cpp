// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/capsule.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "base/text.hpp"
#include "capsule/backend_pool.hpp"
#include "capsule/call_observer.hpp"
#include "capsule/device_names.hpp"
#include "capsule/host_guard.hpp"
#include "capsule/stream_states.hpp"
#include "vcap/base/error.hpp"
#include "vcap/batching/batch_stream_scope.hpp"
#include "vcap/capsule/device.hpp"

namespace vcap {
namespace {

CapsuleInfo checked(CapsuleInfo info) {
  check(info);
  return info;
}

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

/// Which devices get a backend.
std::vector<std::string> mapped_devices(const CapsuleInfo& info, const Capsule::Setup& setup) {
  if (!setup.inference_mode) return {};
  const std::vector<std::string> available = available_devices(setup, info.name);
  try {
    return info.device_mapper.map(available);
  } catch (const DeviceError& error) {
    throw DeviceError(error.code(), "capsule " + info.name + ": " + error.what());
  } catch (...) {
    throw CapsuleLoadError(ErrorCode::capsule_threw,
                           "capsule " + info.name + ": device mapper " + info.device_mapper.name() +
                               " failed: " + exception_text(std::current_exception()));
  }
}

/// The author, who has fetched what backends will need, where there will be any.
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
      : info(checked(std::move(given))),
        subject("capsule " + info.name),
        defaults(info.options, "capsule " + info.name),
        devices(mapped_devices(info, setup)),
        files(std::move(setup.files)),
        author(with_resources(std::move(made), files, info.name, devices)),
        backends(*author, files, info.name, devices) {
    if (info.stream_state) states.emplace(info.name, info.stream_state, info.keeps_state_at);
  }

  const OptionValues& options_for_call(const OptionValues& given) const;
  std::shared_lock<std::shared_mutex> begin_call();
  template <class TakeTurn>
  DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                               const OptionValues& options, std::string_view stream_id,
                               TakeTurn take_turn);
  void close();
  void check_size(NodeDescription::Size got, NodeDescription::Size expected,
                  std::string_view verb) const;

  const CapsuleInfo info;
  std::string subject;  ///< for messages
  const OptionValues defaults;
  const std::vector<std::string> devices;
  const CapsuleFiles files;
  const std::unique_ptr<BaseCapsule> author;  // outlives its backends, and they the states
  detail::BackendPool backends;
  std::optional<detail::StreamStates> states;  ///< absent for a stateless capsule
  BaseStreamState no_state;                    ///< what a stateless capsule's backend is lent

  // Calls share `in_use`; close() takes it alone, and so waits for them. `closed` turns newcomers
  // away meanwhile, who could otherwise keep close() waiting for ever.
  std::atomic<bool> closed = false;
  std::shared_mutex in_use;
};

template <class TakeTurn>
DetectionNodes Capsule::Impl::process_frame(const Frame& frame, DetectionNodes nodes,
                                            const OptionValues& options, std::string_view stream_id,
                                            TakeTurn take_turn) {
  const auto call = begin_call();
  check_size(nodes.kind(), info.input_type.size, "was given");
  const OptionValues& values = options_for_call(options);

  std::optional<detail::StreamStates::Turn> turn = take_turn();
  BaseStreamState& state = turn ? turn->state() : no_state;

  const BatchStreamScope scope(stream_id);
  // Chosen after the wait for the turn: what was idle before it may be busy now.
  const auto backend = backends.lease_least_busy();
  const detail::ObservedBackend observed(backend.device());
  DetectionNodes result = backend->process_frame(frame, std::move(nodes), values, state);
  check_size(result.kind(), info.output_type.size, "gave back");
  return result;
}

std::shared_lock<std::shared_mutex> Capsule::Impl::begin_call() {
  std::shared_lock<std::shared_mutex> call(in_use, std::defer_lock);
  if (!closed) call.lock();
  if (closed)
    throw BatchError(ErrorCode::closed,
                     "capsule " + info.name + " is closed; load it again to run more frames");
  if (backends.empty())
    throw CapsuleLoadError(
        ErrorCode::no_backend,
        "capsule " + info.name + " has no backend; load it with inference_mode = true to run it");
  return call;
}

const OptionValues& Capsule::Impl::options_for_call(const OptionValues& given) const {
  // Copies of default_options() share its declaration, so that this rarely has to compare.
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
                        " are declared otherwise than its own; start from its default_options()");
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
                          "capsule " + info.name + " has no BaseCapsule; give an object");
  if (!setup.config.is_object())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the config of capsule " + info.name + " is of JSON type " +
                              setup.config.type_name() + "; give an object");
  author->config_ = std::move(setup.config);
  const std::string subject = "capsule " + info.name;
  std::optional<detail::HostGuard> guard;
  if (setup.inference_mode) guard.emplace(subject);
  impl_ = std::make_unique<Impl>(std::move(info), std::move(author), std::move(setup));
}

Capsule::~Capsule() {
  const std::string subject = std::move(impl_->subject);  // outlives what it names
  const detail::HostGuard guard(subject);
  impl_->close();
  impl_.reset();  // with the author's object, and what its library keeps of it
}

const CapsuleInfo& Capsule::info() const noexcept { return impl_->info; }

NodeDescription Capsule::capability() const {
  return info().output_type.difference(info().input_type);
}

OptionValues Capsule::default_options() const { return impl_->defaults; }

std::vector<std::string> Capsule::devices() const { return impl_->devices; }

DetectionNodes Capsule::process_frame(const Frame& frame, DetectionNodes nodes,
                                      const OptionValues& options, std::string_view stream_id) {
  return impl_->process_frame(frame, std::move(nodes), options, stream_id, [&] {
    return impl_->states ? std::optional(impl_->states->take_turn(stream_id, frame)) : std::nullopt;
  });
}

DetectionNodes Capsule::process_frame(const Frame& frame, DetectionNodes nodes,
                                      const OptionValues& options, const StreamHandle& stream) {
  if (!impl_->states || !stream)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "capsule " + name() +
                              " was given no opening of a stream; give what its "
                              "open_stream() gave, or the stream's id");
  return impl_->process_frame(frame, std::move(nodes), options, stream->info.id, [&] {
    return std::optional(impl_->states->take_turn(stream, frame));
  });
}

StreamHandle Capsule::open_stream(StreamInfo info) {
  return impl_->states ? impl_->states->open(std::move(info)) : nullptr;
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
  const auto call = impl_->begin_call();
  if (!impl_->info.output_type.encoded)
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "capsule " + name() + " makes no encodings; ask one whose output is encoded");
  std::vector<float> result = impl_->backends.first().distances(encoding, others);
  if (result.size() != others.size())
    throw TypeMismatch("capsule " + name() + " gave " + std::to_string(result.size()) +
                       " distances for " + std::to_string(others.size()) + " encodings");
  return result;
}

double Capsule::workload() const noexcept {
  const std::shared_lock lock(impl_->in_use);
  return impl_->backends.workload();
}

std::vector<BackendStatistics> Capsule::backends() const {
  const std::shared_lock lock(impl_->in_use);
  return impl_->backends.statistics();
}

void Capsule::Impl::close() {
  closed = true;
  const std::unique_lock lock(in_use);
  backends.close();
  if (states) states->clear();
}

void Capsule::close() {
  const detail::HostGuard guard(impl_->subject);
  impl_->close();
}

}  // namespace vcap
