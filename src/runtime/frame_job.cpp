// SPDX-License-Identifier: Apache-2.0
#include "runtime/frame_job.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using CapsuleError = FrameRecord::CapsuleError;

/// Gives what the function throws; null where it returns.
template <class Function>
std::exception_ptr thrown_by(const Function& function) {
  try {
    function();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

/// What was thrown, as the record tells it. Batch-mates share one exception, which lives until
/// the last of them has let go of it.
CapsuleError error_of(const std::exception_ptr& thrown, const std::string& capsule) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return {capsule, std::string(to_string(error.code())), error.what()};
  } catch (...) {
    return {capsule, "exception", exception_text(thrown)};
  }
}

/// One capsule may fail alike on many nodes of a frame: the record says so once.
void note(FrameRecord& record, CapsuleError error, std::size_t calls = 1) {
  if (calls > 1) error.message += " (on " + std::to_string(calls) + " nodes)";
  record.errors.push_back(std::move(error));
}

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
    note(record, *std::move(errors[i]), alike);
  }
}

std::vector<DetectionNode> call(const ProgramStep& step, const FrameJob& job, const Frame& frame,
                                DetectionNodes nodes) {
  return step.capsule
      ->process_frame(frame, std::move(nodes), (*job.options)[job.step], job.record.stream_id)
      .take();
}

/// "capsule X gave it", for the first attribute whose value the input does not list.
std::string giver_of_bad_attribute(const ProgramStep& step,
                                   const std::vector<DetectionNode>& nodes) {
  for (const DetectionNode& node : nodes) {
    for (const auto& [category, allowed] : step.needs.attributes) {
      const auto value = node.attributes.find(category);
      if (value == node.attributes.end() ||
          std::find(allowed.begin(), allowed.end(), value->second) != allowed.end())
        continue;
      const auto giver = step.attribute_givers.find(category);
      if (giver == step.attribute_givers.end())
        return "; no capsule before it declares attribute " + category;
      return "; attribute " + category + " is what capsule " + giver->second + " provides";
    }
    if (std::string text = giver_of_bad_attribute(step, node.children); !text.empty()) return text;
  }
  return {};
}

/// Finds the nodes for a step; nothing, and an error noted, where an attribute's value is outside
/// what the input lists.
template <class Nodes>
std::optional<Nodes> find_nodes(const ProgramStep& step, FrameRecord& record) {
  std::optional<Nodes> nodes;
  if (const auto thrown = thrown_by([&] { nodes.emplace(record.objects, step.needs); })) {
    CapsuleError error = error_of(thrown, step.capsule->name());
    error.message += giver_of_bad_attribute(step, record.objects);
    note(record, std::move(error));
    return std::nullopt;
  }
  return nodes;
}

/// One call for a single node; gives what went wrong, if anything.
std::optional<CapsuleError> run_call(const ProgramStep& step, const FrameJob& job,
                                     const Frame& frame, SingleNodes& nodes, std::size_t round,
                                     std::size_t i) {
  const auto thrown =
      thrown_by([&] { nodes.set(round, i, call(step, job, frame, nodes.copy(round, i))); });
  if (!thrown) return std::nullopt;
  return error_of(thrown, step.capsule->name());
}

}  // namespace

bool run_whole_step(const ProgramStep& step, FrameJob& job, const Frame& frame) {
  FrameRecord& record = job.record;
  std::exception_ptr thrown;
  if (step.needs.size == NodeDescription::Size::none) {
    thrown = thrown_by([&] {
      std::vector<DetectionNode> found = call(step, job, frame, DetectionNodes::none());
      std::move(found.begin(), found.end(), std::back_inserter(record.objects));
    });
  } else {
    std::optional<TakenNodes> taken = find_nodes<TakenNodes>(step, record);
    if (!taken) return false;
    thrown = thrown_by([&] { std::move(*taken).put_back(call(step, job, frame, taken->copy())); });
  }
  if (thrown) note(record, error_of(thrown, step.capsule->name()));
  return true;
}

bool run_single_step_in_turn(const ProgramStep& step, FrameJob& job, const Frame& frame) {
  std::optional<SingleNodes> nodes = find_nodes<SingleNodes>(step, job.record);
  if (!nodes) return false;
  std::vector<std::optional<CapsuleError>> errors;
  for (std::size_t round = 0; round < nodes->rounds(); ++round) {
    for (std::size_t i = 0; i < nodes->calls(round); ++i)
      errors.push_back(run_call(step, job, frame, *nodes, round, i));
    nodes->finish(round);
  }
  const bool called = !errors.empty();
  note_all(job.record, std::move(errors));
  return called;
}

FanOut::FanOut(const ProgramStep& step, std::unique_ptr<FrameJob> job,
               std::shared_ptr<SingleNodes> nodes, std::size_t round)
    : step_(step),
      job_(std::move(job)),
      nodes_(std::move(nodes)),
      round_(round),
      calls_(nodes_->calls(round)),
      errors_(calls_),
      unfinished_(calls_) {}

std::shared_ptr<FanOut> FanOut::begin(const ProgramStep& step, std::unique_ptr<FrameJob>& job) {
  std::optional<SingleNodes> nodes = find_nodes<SingleNodes>(step, job->record);
  if (!nodes || nodes->rounds() == 0) return nullptr;
  auto shared = std::make_shared<SingleNodes>(*std::move(nodes));
  return std::shared_ptr<FanOut>(new FanOut(step, std::move(job), std::move(shared), 0));
}

bool FanOut::help() {
  bool last = false;
  // Helpers that come when all is begun touch nothing but the counter: the job may be gone.
  for (std::size_t i = next_.fetch_add(1); i < calls_; i = next_.fetch_add(1)) {
    errors_[i] = run_call(step_, *job_, job_->record.frame, *nodes_, round_, i);
    last = unfinished_.fetch_sub(1) == 1;
  }
  return last;
}

std::shared_ptr<FanOut> FanOut::next_round() {
  nodes_->finish(round_);
  note_all(job_->record, std::move(errors_));
  if (round_ + 1 == nodes_->rounds()) return nullptr;
  return std::shared_ptr<FanOut>(new FanOut(step_, std::move(job_), std::move(nodes_), round_ + 1));
}

}  // namespace vcap
