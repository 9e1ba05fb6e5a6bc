// SPDX-License-Identifier: Apache-2.0
#include "streams/step_calls.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <limits>
#include <tuple>

#include "base/text.hpp"
#include "capsule/picture_check.hpp"
#include "records/record_line.hpp"
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

static_assert(kMostRecordLevels == 1 + 3 * detail::kMostLevels, "the reader of records knows it");

/// What a sum is that does not fit: a policy may have bounds of that size.
std::size_t sum(std::size_t a, std::size_t b) noexcept {
  return a > std::numeric_limits<std::size_t>::max() - b ? std::numeric_limits<std::size_t>::max()
                                                         : a + b;
}

detail::NodesSize sum(const detail::NodesSize& a, const detail::NodesSize& b) noexcept {
  return {.nodes = sum(a.nodes, b.nodes),
          .bytes = sum(a.bytes, b.bytes),
          .levels = std::max(a.levels, b.levels)};
}

/// For a record whose nodes were not measured: the next capsule measures them.
constexpr detail::NodesSize kNotMeasured{.nodes = std::numeric_limits<std::size_t>::max(),
                                         .bytes = std::numeric_limits<std::size_t>::max()};

/// The most different reports of one capsule in a record: it may have thousands of nodes.
constexpr std::size_t kMostReports = 16;

/// Adds what capsules report about several calls in the order of the calls. A capsule may fail in
/// the same way on many nodes of a frame: the record reports that once. Those beyond the bound are
/// only counted.
void store(std::vector<std::pair<std::size_t, CapsuleError>>& from, std::vector<CapsuleError>& to) {
  // By the text too: a call may fail, and the results of its round be dropped.
  std::ranges::sort(from, [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.message) < std::tie(b.first, b.second.message);
  });
  const std::size_t before = to.size();
  std::vector<std::size_t> repeats;
  std::size_t others = 0;
  for (auto& [call, error] : from) {
    const auto same = std::find_if(to.begin() + static_cast<std::ptrdiff_t>(before), to.end(),
                                   [&error = error](const CapsuleError& one) {
                                     return one.code == error.code && one.message == error.message;
                                   });
    if (same != to.end()) {
      ++repeats[static_cast<std::size_t>(same - to.begin()) - before];
    } else if (repeats.size() == kMostReports) {
      ++others;
    } else {
      to.push_back(std::move(error));
      repeats.push_back(1);
    }
  }
  for (std::size_t i = 0; i < repeats.size(); ++i)
    if (repeats[i] > 1) to[before + i].message += " (on " + std::to_string(repeats[i]) + " nodes)";
  if (others > 0) to.back().message += " (and other reports on " + counted(others, "node") + ")";
  from.clear();
}

}  // namespace

/// Requests of one batch share one exception, which lives until the last of them releases it.
CapsuleError current_capsule_error(const std::string& capsule) {
  try {
    throw;
  } catch (const Error& error) {
    return {capsule, std::string(to_string(error.code())), bounded_text(error.what())};
  } catch (...) {
    return {capsule, "exception", exception_text(std::current_exception())};
  }
}

Pictures taken_pictures(const CompiledStep& step, const Pictures& pictures) {
  Pictures taken;
  for (const PictureDescription& picture : step.takes_pictures())
    if (const cv::Mat* const image = pictures.find(picture.name)) taken.set(picture.name, *image);
  return taken;
}

const std::string* missing_picture(const FrameJob& job) noexcept {
  const Frame& frame = job.record.frame;
  for (const PictureDescription& picture : job.compiled_step().takes_pictures())
    if (!detail::is_as_taken(frame.pictures.find(picture.name), picture, frame.image.size()))
      return &picture.name;
  return nullptr;
}

StepContext::Result StepContext::call(DetectionNodes nodes) const {
  CapsuleSlot& slot = *step().slot;
  const auto begin = std::chrono::steady_clock::now();
  try {
    std::optional<CapsuleTrace::Call> traced;
    if (slot.trace) traced.emplace(*slot.trace, *stream_id, frame->index, trace_frame);
    const StreamRef stream = state ? StreamRef(state) : StreamRef(*stream_id);
    detail::OutputReport report;
    const detail::OutputScope scope({.policy = &slot.outputs, .reports = {&report, 1}});
    DetectionNodes returned = window ? call_on_window(std::move(nodes), stream)
                                     : slot.capsule->process_frame(*frame, std::move(nodes),
                                                                   route->options[number], stream);
    slot.meter.add(begin, std::chrono::steady_clock::now(), false);
    Pictures pictures = returned.take_pictures();
    return {std::move(returned).take(), std::move(report), std::move(pictures)};
  } catch (...) {
    slot.meter.add(begin, std::chrono::steady_clock::now(), true);
    return current_capsule_error(slot.name());
  }
}

std::vector<DetectionNodes> nodes_of_window(const StepWindow& window, DetectionNodes present) {
  std::vector<DetectionNodes> all_nodes(window.frames.size());
  if (!window.nodes.empty())
    for (std::size_t i = 0; i < all_nodes.size(); ++i)
      all_nodes[i] = window.nodes[i] ? *window.nodes[i] : DetectionNodes::all();
  if (window.present) all_nodes[*window.present] = std::move(present);
  return all_nodes;
}

DetectionNodes StepContext::call_on_window(DetectionNodes nodes, StreamRef stream) const {
  std::vector<DetectionNodes> all_nodes = nodes_of_window(*window, std::move(nodes));
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
    return StepCalls(job, *std::move(taken));
  }
  if (step.needs.size == NodeDescription::Size::single) {
    auto single = find_nodes<SingleNodes>(step, job.record);
    if (!single || single->rounds() == 0) return std::nullopt;
    return StepCalls(job, *std::move(single));
  }
  return StepCalls(job, {});
}

StepCalls::StepCalls(FrameJob& job, Nodes nodes)
    : capsule_(&job.compiled_step().slot->name()),
      outputs_(&job.compiled_step().slot->outputs),
      size_bound_(&job.size_bound),
      nodes_(std::move(nodes)),
      keeps_nodes_(job.compiled_step().slot->capsule->info().output_type.size ==
                   NodeDescription::Size::none) {
  begin_round();
}

void StepCalls::begin_round() noexcept {
  const auto* single = std::get_if<SingleNodes>(&nodes_);
  calls_ = single ? single->calls(round_) : 1;
  begun_ = 0;
  unfinished_ = calls_;
  given_ = {};
  is_dropped_ = false;
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
  if (auto* error = std::get_if<CapsuleError>(&result.outcome)) {
    errors_.emplace_back(call, std::move(*error));
  } else if (note_output(call, std::move(result.output)); !is_dropped_) {
    auto& returned = std::get<std::vector<DetectionNode>>(result.outcome);
    if (auto* single = std::get_if<SingleNodes>(&nodes_))
      single->set(round_, call, std::move(returned));
    else
      returned_ = std::move(returned);
    pictures_ = std::move(result.pictures);
  }
  return --unfinished_ == 0;
}

/// Adds up what the calls of a round give. If that alone is more than a record may have, the
/// results so far are dropped at once: they may need much memory.
void StepCalls::note_output(std::size_t call, detail::OutputReport output) {
  if (!output.warning.empty())
    warnings_.emplace_back(
        call, CapsuleError{*capsule_, std::string(to_string(ErrorCode::invalid_output)),
                           std::move(output.warning)});
  if (const auto* single = std::get_if<SingleNodes>(&nodes_); single && output.size.levels > 0)
    output.size.levels += single->level(round_, call) - 1;
  given_ = sum(given_, output.size);
  if (!is_dropped_ && is_beyond(given_))
    drop_results("gave more for one frame than the " + bounds_text());
}

bool StepCalls::is_beyond(const detail::NodesSize& size) const noexcept {
  return outputs_->invalid != InvalidOutput::off &&
         (size.nodes > outputs_->max_nodes || size.bytes > outputs_->max_bytes);
}

/// The text does not say how much it was, since that depends on which of the calls have ended.
std::string StepCalls::bounds_text() const {
  return std::to_string(outputs_->max_nodes) + " nodes or " + std::to_string(outputs_->max_bytes) +
         " bytes that the host allows for a record (OutputPolicy); give less, or have the host "
         "raise the bounds";
}

/// Drops the results of this round.
void StepCalls::drop_results(const std::string& why) {
  is_dropped_ = true;
  returned_ = {};
  pictures_ = {};
  if (auto* single = std::get_if<SingleNodes>(&nodes_)) single->forget(round_);
  errors_.emplace_back(0, CapsuleError{*capsule_, std::string(to_string(ErrorCode::invalid_output)),
                                       "capsule " + *capsule_ + " " + why});
}

/// The nodes in the record that the results of this round replace.
std::vector<const DetectionNode*> StepCalls::replaced() const {
  if (const auto* single = std::get_if<SingleNodes>(&nodes_)) return single->answered(round_);
  if (const auto* taken = std::get_if<TakenNodes>(&nodes_)) return taken->nodes();
  return {};
}

/// Drops the results of this round if the record would then have too many nodes, bytes or levels.
/// Measures the record only if its upper bound is too large.
void StepCalls::fit_results(const FrameRecord& record) {
  if (is_dropped_ || given_.nodes == 0) {
    if (outputs_->invalid == InvalidOutput::off) *size_bound_ = kNotMeasured;
    return;
  }
  const auto* taken = std::get_if<TakenNodes>(&nodes_);
  if ((taken ? taken->level() - 1 : 0) + given_.levels > detail::kMostLevels)
    return drop_results("gave nodes that have, with those above them, more than " +
                        std::to_string(detail::kMostLevels) + " levels; give fewer levels");
  detail::NodesSize bound = sum(*size_bound_, given_);
  if (is_beyond(bound)) {
    // In later rounds, nodes that are replaced by several are not in the tree yet.
    if (round_ == 0) *size_bound_ = detail::size_of(record.objects);
    detail::NodesSize before = *size_bound_;
    for (const DetectionNode* const node : replaced()) {
      const detail::NodesSize size = detail::size_of({node, 1});
      before.nodes -= std::min(before.nodes, size.nodes);
      before.bytes -= std::min(before.bytes, size.bytes);
    }
    bound = sum(before, given_);
  }
  if (is_beyond(bound))
    drop_results("gave nodes with which the record of this frame would have more than the " +
                 bounds_text());
  else
    *size_bound_ = bound;
}

bool StepCalls::next_round(FrameRecord& record) {
  auto* single = std::get_if<SingleNodes>(&nodes_);
  if (!single) return false;
  fit_results(record);
  single->finish(round_);
  store_errors(record);
  if (round_ + 1 == single->rounds()) return false;
  ++round_;
  begin_round();
  return true;
}

void StepCalls::store_errors(FrameRecord& record) {
  if (!errors_.empty()) store(errors_, record.errors);
  if (!warnings_.empty()) store(warnings_, record.warnings);
}

void StepCalls::finish(FrameRecord& record) {
  if (!std::holds_alternative<SingleNodes>(nodes_)) fit_results(record);
  const bool failed = !errors_.empty();
  store_errors(record);
  try {
    if (std::holds_alternative<std::monostate>(nodes_))
      std::move(returned_.begin(), returned_.end(), std::back_inserter(record.objects));
    else if (auto* taken = std::get_if<TakenNodes>(&nodes_); taken && !failed && !keeps_nodes_)
      std::move(*taken).put_back(std::move(returned_));
    for (const auto& [name, image] : pictures_) {
      record.pictures.push_back({.name = name, .type = image.type(), .size = image.size()});
      record.frame.pictures.set(name, image);
    }
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
  if (auto* single = std::get_if<SingleNodes>(&nodes_)) {
    fit_results(record);
    single->finish(0);
  }
  finish(record);
}

}  // namespace vcap
