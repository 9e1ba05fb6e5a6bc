// SPDX-License-Identifier: Apache-2.0
#include "streams/step_calls.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using CapsuleError = FrameRecord::CapsuleError;

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
      return "; capsule " + provider->second + " provides attribute " + category;
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
  try {
    return std::optional<Nodes>(std::in_place, record.objects, step.needs);
  } catch (...) {
    CapsuleError error = current_capsule_error(step.slot->name());
    error.message += provider_of_bad_attribute(step, record.objects);
    record.errors.push_back(std::move(error));
    return std::nullopt;
  }
}

CapsuleError edge_error(const std::string& capsule, int offset) {
  return {capsule, std::string(to_string(ErrorCode::stencil_edge)),
          "it was not called: there is no frame at offset " + std::to_string(offset) +
              " from this one, which is an error by its stencil's edge mode"};
}

}  // namespace

/// Requests of one batch share one exception, which lives until the last of them releases it.
CapsuleError current_capsule_error(const std::string& capsule) {
  try {
    throw;
  } catch (const Error& error) {
    return {capsule, std::string(to_string(error.code())), error.what()};
  } catch (...) {
    return {capsule, "exception", exception_text(std::current_exception())};
  }
}

StepContext::Result StepContext::call(DetectionNodes nodes) const {
  CapsuleSlot& slot = *step().slot;
  const auto begin = std::chrono::steady_clock::now();
  try {
    std::optional<CapsuleTrace::Call> traced;
    if (slot.trace) traced.emplace(*slot.trace, *stream_id, frame->index, trace_frame);
    const StreamRef stream = state ? StreamRef(state) : StreamRef(*stream_id);
    std::vector<DetectionNode> returned =
        (window ? call_on_window(std::move(nodes), stream)
                : slot.capsule->process_frame(*frame, std::move(nodes), route->options[number],
                                              stream))
            .take();
    slot.meter.add(begin, std::chrono::steady_clock::now(), false);
    return returned;
  } catch (...) {
    slot.meter.add(begin, std::chrono::steady_clock::now(), true);
    return current_capsule_error(slot.name());
  }
}

DetectionNodes StepContext::call_on_window(DetectionNodes nodes, StreamRef stream) const {
  std::vector<DetectionNodes> all_nodes(window->frames.size());
  if (!window->nodes.empty())
    for (std::size_t i = 0; i < all_nodes.size(); ++i)
      all_nodes[i] = window->nodes[i] ? *window->nodes[i] : DetectionNodes::all();
  if (window->present) all_nodes[*window->present] = std::move(nodes);
  return step().slot->capsule->process_window(*frame, window->frames, all_nodes,
                                              route->options[number], stream);
}

std::optional<StepCalls> StepCalls::begin(FrameJob& job) {
  const CompiledStep& step = job.compiled_step();
  const std::string& capsule = step.slot->name();
  if (job.window && job.window->missing) {
    job.record.errors.push_back(edge_error(capsule, *job.window->missing));
    return std::nullopt;
  }
  if (step.needs.size == NodeDescription::Size::all) {
    auto taken = find_nodes<TakenNodes>(step, job.record);
    if (!taken) return std::nullopt;
    return StepCalls(capsule, *std::move(taken));
  }
  if (step.needs.size == NodeDescription::Size::single) {
    auto single = find_nodes<SingleNodes>(step, job.record);
    if (!single || single->rounds() == 0) return std::nullopt;
    return StepCalls(capsule, *std::move(single));
  }
  return StepCalls(capsule, {});
}

StepCalls::StepCalls(const std::string& capsule, Nodes nodes)
    : capsule_(&capsule), nodes_(std::move(nodes)) {
  begin_round();
}

void StepCalls::begin_round() noexcept {
  const auto* single = std::get_if<SingleNodes>(&nodes_);
  calls_ = single ? single->calls(round_) : 1;
  begun_ = 0;
  unfinished_ = calls_;
}

bool StepCalls::is_one_call() const noexcept {
  const auto* single = std::get_if<SingleNodes>(&nodes_);
  return calls_ == 1 && (!single || single->rounds() == 1);
}

std::optional<std::size_t> StepCalls::begin_call() noexcept {
  if (begun_ == calls_) return std::nullopt;
  return begun_++;
}

DetectionNodes StepCalls::nodes(std::size_t call) const {
  if (const auto* single = std::get_if<SingleNodes>(&nodes_)) return single->copy(round_, call);
  if (const auto* taken = std::get_if<TakenNodes>(&nodes_)) return taken->copy();
  return DetectionNodes::none();
}

bool StepCalls::end_call(std::size_t call, StepContext::Result result) {
  if (auto* error = std::get_if<CapsuleError>(&result)) {
    errors_.emplace_back(call, std::move(*error));
  } else {
    auto& returned = std::get<std::vector<DetectionNode>>(result);
    if (auto* single = std::get_if<SingleNodes>(&nodes_))
      single->set(round_, call, std::move(returned));
    else
      returned_ = std::move(returned);
  }
  return --unfinished_ == 0;
}

/// A capsule may fail in the same way on many nodes of a frame: the record reports that once.
void StepCalls::store_errors(FrameRecord& record) {
  std::ranges::sort(errors_, {}, &std::pair<std::size_t, CapsuleError>::first);
  const std::size_t before = record.errors.size();
  std::vector<std::size_t> repeats;
  for (auto& [call, error] : errors_) {
    const auto same = std::find_if(record.errors.begin() + static_cast<std::ptrdiff_t>(before),
                                   record.errors.end(), [&error = error](const CapsuleError& one) {
                                     return one.code == error.code && one.message == error.message;
                                   });
    if (same != record.errors.end()) {
      ++repeats[static_cast<std::size_t>(same - record.errors.begin()) - before];
      continue;
    }
    record.errors.push_back(std::move(error));
    repeats.push_back(1);
  }
  for (std::size_t i = 0; i < repeats.size(); ++i)
    if (repeats[i] > 1)
      record.errors[before + i].message += " (on " + std::to_string(repeats[i]) + " nodes)";
  errors_.clear();
}

bool StepCalls::next_round(FrameRecord& record) {
  auto* single = std::get_if<SingleNodes>(&nodes_);
  if (!single) return false;
  single->finish(round_);
  store_errors(record);
  if (round_ + 1 == single->rounds()) return false;
  ++round_;
  begin_round();
  return true;
}

void StepCalls::finish(FrameRecord& record) {
  const bool failed = !errors_.empty();
  if (failed) store_errors(record);
  try {
    if (std::holds_alternative<std::monostate>(nodes_))
      std::move(returned_.begin(), returned_.end(), std::back_inserter(record.objects));
    else if (auto* taken = std::get_if<TakenNodes>(&nodes_); taken && !failed)
      std::move(*taken).put_back(std::move(returned_));
  } catch (...) {
    record.errors.push_back(current_capsule_error(*capsule_));
  }
}

void StepCalls::run_only_call(const StepContext& context, FrameRecord& record) {
  StepContext::Result result;
  std::optional<DetectionNodes> copy;
  try {
    copy = nodes(0);
  } catch (...) {
    result = current_capsule_error(*capsule_);
  }
  if (copy) result = context.call(*std::move(copy));
  end_call(0, std::move(result));
  if (auto* single = std::get_if<SingleNodes>(&nodes_)) single->finish(0);
  finish(record);
}

}  // namespace vcap
