// SPDX-License-Identifier: Apache-2.0
#include "streams/step_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "workers/work_pool.hpp"

namespace vcap {
namespace {

using CapsuleError = FrameRecord::CapsuleError;

/// What the function throws; null if it returns.
template <class Function>
std::exception_ptr thrown_by(const Function& function) {
  try {
    function();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

/// The exception as an error of the record. Requests of one batch share one exception, which lives
/// until the last of them releases it.
CapsuleError error_of(const std::exception_ptr& thrown, const std::string& capsule) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return {capsule, std::string(to_string(error.code())), error.what()};
  } catch (...) {
    return {capsule, "exception", exception_text(thrown)};
  }
}

/// A capsule may fail in the same way on many nodes of a frame: the record reports that once.
void note_all(FrameRecord& record, std::vector<std::optional<CapsuleError>> errors) {
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!errors[i]) continue;
    std::size_t alike = 1;
    for (std::size_t j = i + 1; j < errors.size(); ++j)
      if (errors[j] && errors[j]->code == errors[i]->code &&
          errors[j]->message == errors[i]->message) {
        ++alike;
        errors[j].reset();
      }
    if (alike > 1) errors[i]->message += " (on " + std::to_string(alike) + " nodes)";
    record.errors.push_back(*std::move(errors[i]));
  }
}

/// "capsule X gave it", for the first attribute whose value the input does not list.
std::string provider_of_bad_attribute(const CompiledStep& step,
                                      const std::vector<DetectionNode>& nodes) {
  for (const DetectionNode& node : nodes) {
    for (const auto& [category, allowed] : step.needs.attributes) {
      const auto value = node.attributes.find(category);
      if (value == node.attributes.end() ||
          std::find(allowed.begin(), allowed.end(), value->second) != allowed.end())
        continue;
      const auto provider = step.attribute_providers.find(category);
      if (provider == step.attribute_providers.end())
        return "; no capsule before it declares attribute " + category;
      return "; attribute " + category + " is what capsule " + provider->second + " provides";
    }
    if (std::string text = provider_of_bad_attribute(step, node.children); !text.empty())
      return text;
  }
  return {};
}

/// The nodes for a step. `nullopt`, with an error in the record, if an attribute has a value that
/// the input does not list.
template <class Nodes>
std::optional<Nodes> find_nodes(const CompiledStep& step, FrameRecord& record) {
  std::optional<Nodes> nodes;
  if (const auto thrown = thrown_by([&] { nodes.emplace(record.objects, step.needs); })) {
    CapsuleError error = error_of(thrown, step.slot->name());
    error.message += provider_of_bad_attribute(step, record.objects);
    record.errors.push_back(std::move(error));
    return std::nullopt;
  }
  return nodes;
}

CapsuleError edge_error(const std::string& capsule, int offset) {
  return {capsule, std::string(to_string(ErrorCode::stencil_edge)),
          "it was not called: there is no frame at offset " + std::to_string(offset) +
              " from this one, and its stencil has that as an error"};
}

CapsuleError overdue_error(const std::string& capsule, std::chrono::nanoseconds limit) {
  return {capsule, std::string(to_string(ErrorCode::deadline_exceeded)),
          "it took longer than " + number_text(std::chrono::duration<double>(limit).count()) +
              " s over this frame, which went on without it"};
}

}  // namespace

std::shared_ptr<StepRun> StepRun::begin(std::unique_ptr<FrameJob>& job, Discontinuity discontinuity,
                                        StreamHandle state, std::optional<StepWindow> window) {
  const CompiledStep& step = job->compiled_step();
  if (window && window->missing) {
    job->record.errors.push_back(edge_error(step.slot->name(), *window->missing));
    return nullptr;
  }
  Nodes nodes;
  if (step.needs.size == NodeDescription::Size::all) {
    auto taken = find_nodes<TakenNodes>(step, job->record);
    if (!taken) return nullptr;
    nodes.emplace<TakenNodes>(*std::move(taken));
  } else if (step.needs.size == NodeDescription::Size::single) {
    auto single = find_nodes<SingleNodes>(step, job->record);
    if (!single || single->rounds() == 0) return nullptr;
    nodes.emplace<SingleNodes>(*std::move(single));
  }
  return std::shared_ptr<StepRun>(new StepRun(std::move(job), std::move(nodes), discontinuity,
                                              std::move(state), std::move(window)));
}

StepRun::StepRun(std::unique_ptr<FrameJob> job, Nodes nodes, Discontinuity discontinuity,
                 StreamHandle state, std::optional<StepWindow> window)
    : route_(job->route),
      step_(job->step),
      stream_id_(job->record.stream_id),
      state_(std::move(state)),
      window_(std::move(window)),
      trace_frame_(job->trace_frame),
      frame_(job->record.frame),
      job_(std::move(job)),
      nodes_(std::move(nodes)) {
  frame_.discontinuity = discontinuity;
  if (window_ && window_->present) window_->frames[*window_->present].discontinuity = discontinuity;
  begin_round();
}

/// Requires `mutex_`, unless no other thread knows of the run yet.
void StepRun::begin_round() {
  const auto* single = std::get_if<SingleNodes>(&nodes_);
  calls_ = single ? single->calls(round_) : 1;
  begun_ = 0;
  unfinished_ = calls_;
  errors_.clear();
  errors_.resize(calls_);
}

/// `nullopt` if no call is left. The nodes are copied here: after give_up(), the tree may belong to
/// another thread. They stay empty if copying fails.
std::optional<StepRun::Call> StepRun::begin_call(std::optional<DetectionNodes>& nodes) {
  const std::lock_guard lock(mutex_);
  if (!job_ || begun_ == calls_) return std::nullopt;
  const Call call{.number = begun_++,
                  .worker = WorkPool::current(),
                  .thread = ::gettid(),
                  .since = std::chrono::steady_clock::now()};
  const auto thrown = thrown_by([&] {
    if (const auto* single = std::get_if<SingleNodes>(&nodes_))
      nodes = single->copy(round_, call.number);
    else if (const auto* taken = std::get_if<TakenNodes>(&nodes_))
      nodes = taken->copy();
    else
      nodes = DetectionNodes::none();
    in_progress_.push_back(call);
  });
  if (thrown) {
    nodes.reset();
    errors_[call.number] = error_of(thrown, (*route_->compiled_plan)[step_].slot->name());
  }
  return call;
}

StepRun::Help StepRun::end_call(const Call& call, std::vector<DetectionNode> returned,
                                std::optional<CapsuleError> error) {
  const std::lock_guard lock(mutex_);
  if (!job_) return Help::too_late;
  std::erase_if(in_progress_, [&](const Call& one) { return one.number == call.number; });
  if (error)
    errors_[call.number] = std::move(error);
  else if (auto* single = std::get_if<SingleNodes>(&nodes_); single && !errors_[call.number])
    single->set(round_, call.number, std::move(returned));
  else
    returned_ = std::move(returned);
  return --unfinished_ == 0 ? Help::finished : Help::nothing;
}

std::vector<DetectionNode> StepRun::call(DetectionNodes nodes) const {
  const CapsuleSlot& slot = *(*route_->compiled_plan)[step_].slot;
  Capsule& capsule = *slot.capsule;
  std::optional<CapsuleTrace::Call> traced;
  if (slot.trace) traced.emplace(*slot.trace, stream_id_, frame_.index, trace_frame_);
  const StreamRef stream = state_ ? StreamRef(state_) : StreamRef(stream_id_);
  if (window_) return call_on_window(capsule, std::move(nodes), stream).take();
  return capsule.process_frame(frame_, std::move(nodes), route_->options[step_], stream).take();
}

DetectionNodes StepRun::call_on_window(Capsule& capsule, DetectionNodes nodes,
                                       StreamRef stream) const {
  std::vector<DetectionNodes> all_nodes(window_->frames.size());
  if (!window_->nodes.empty())
    for (std::size_t i = 0; i < all_nodes.size(); ++i)
      all_nodes[i] = window_->nodes[i] ? *window_->nodes[i] : DetectionNodes::all();
  if (window_->present) all_nodes[*window_->present] = std::move(nodes);
  return capsule.process_window(frame_, window_->frames, all_nodes, route_->options[step_], stream);
}

StepRun::Help StepRun::help() {
  const CompiledStep& step = (*route_->compiled_plan)[step_];
  for (;;) {
    std::optional<DetectionNodes> nodes;
    const std::optional<Call> call = begin_call(nodes);
    if (!call) return Help::nothing;
    std::vector<DetectionNode> returned;
    std::optional<CapsuleError> error;
    if (nodes) {
      const auto thrown = thrown_by([&] { returned = this->call(*std::move(nodes)); });
      step.slot->meter.add(call->since, std::chrono::steady_clock::now(), thrown != nullptr);
      if (thrown) error = error_of(thrown, step.slot->name());
    }
    const Help outcome = end_call(*call, std::move(returned), std::move(error));
    if (outcome != Help::nothing) return outcome;
  }
}

/// Requires `mutex_`.
void StepRun::note_overdue() {
  job_->record.errors.push_back(
      overdue_error((*route_->compiled_plan)[step_].slot->name(), *overdue_));
}

bool StepRun::next_round() {
  const std::lock_guard lock(mutex_);
  auto* single = std::get_if<SingleNodes>(&nodes_);
  if (!single || !job_) return false;
  single->finish(round_);
  note_all(job_->record, std::move(errors_));
  errors_.clear();
  if (overdue_) {
    note_overdue();
    return false;
  }
  if (round_ + 1 == single->rounds()) return false;
  ++round_;
  begin_round();
  return true;
}

void StepRun::set_watch(Watchdog::Watch watch) {
  const std::lock_guard lock(mutex_);
  if (job_) watch_ = std::move(watch);
}

std::unique_ptr<FrameJob> StepRun::take_job() {
  const std::lock_guard lock(mutex_);
  watch_.end();
  if (!job_) return nullptr;
  FrameRecord& record = job_->record;
  const bool failed = !errors_.empty() && errors_.front().has_value();
  std::exception_ptr thrown;
  if (std::holds_alternative<std::monostate>(nodes_))
    thrown = thrown_by(
        [&] { std::move(returned_.begin(), returned_.end(), std::back_inserter(record.objects)); });
  else if (auto* taken = std::get_if<TakenNodes>(&nodes_); taken && !failed)
    thrown = thrown_by([&] { std::move(*taken).put_back(std::move(returned_)); });
  note_all(record, std::move(errors_));
  if (thrown)
    record.errors.push_back(error_of(thrown, (*route_->compiled_plan)[step_].slot->name()));
  return std::move(job_);
}

StepRun::GivenUp StepRun::give_up(std::chrono::nanoseconds limit) {
  const std::lock_guard lock(mutex_);
  if (!job_) return {};
  overdue_ = limit;
  // The thread that ended the last call already has the job, unless a further round begins.
  if (unfinished_ == 0) return {};
  watch_.end();
  note_overdue();
  return {std::move(job_), in_progress_};
}

}  // namespace vcap
