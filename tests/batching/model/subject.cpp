// SPDX-License-Identifier: Apache-2.0
#include "subject.hpp"

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/execution.hpp"
#include "model_clock.hpp"
#include "vcap/base/error.hpp"

namespace vcap::model {
namespace {

/// The exception that predict throws at a bad input.
struct BadInput final : std::domain_error {
  using domain_error::domain_error;
};

BatchPolicy with_model_clock(BatchPolicy policy) {
  policy.clock = std::make_shared<ModelClock>();
  return policy;
}

Fate fate_of(const BatchError& error) {
  switch (error.code()) {
    case ErrorCode::cancelled:
      return Fate::cancelled;
    case ErrorCode::deadline_exceeded:
      return Fate::expired;
    case ErrorCode::queue_full:
      return Fate::full;
    case ErrorCode::closed:
      return Fate::closed;
    default:
      Execution::current()->fail(error.what());
  }
}

}  // namespace

void PrintTo(Fate fate, std::ostream* out) {
  constexpr const char* kNames[] = {"answered", "failed", "cancelled", "expired", "full", "closed"};
  *out << kNames[static_cast<std::size_t>(fate)];
}

Subject::Subject(Fates& all, BatchPolicy policy, Predicting predicting)
    : all_fates_(all),
      isolates_(policy.isolate_failures),
      workers_(policy.workers),
      predicting_(std::move(predicting)),
      executor_(std::make_unique<BatchExecutor<int, int>>(
          [this](std::span<const int> inputs) { return predict(inputs); },
          with_model_clock(std::move(policy)),
          [this](int input) { return static_cast<std::uint64_t>(input % predicting_.keys); })) {}

Subject::~Subject() {
  if (executor_) {
    close(CloseMode::drain);
    // Reading the statistics takes longer than all the rest. Most schedules have no preemptions
    // left here and skip it.
    if (Execution::current()->preemptions_left() > 0) compare_statistics();
    destroy();
  }
  take_answers();  // of senders that the executor's destructor released
}

void Subject::run(int input, const RequestOptions& options) {
  sent_ += 1;
  receive(input, 1, options, [&] { return executor_->run(input, options); });
}

void Subject::run_all(std::vector<int> inputs, const RequestOptions& options) {
  const int first = inputs.front();
  sent_ += inputs.size();
  shared_fates_ = true;
  receive(first, inputs.size(), options, [&] {
    const std::vector<int> outputs = executor_->run_all(inputs, options);
    expect(outputs.size() == inputs.size(), "run_all gave another number of outputs");
    for (std::size_t i = 0; i < inputs.size(); ++i)
      expect(outputs[i] == 2 * inputs[i], "run_all gave an output of another input");
    return outputs.front();
  });
}

void Subject::submit(int input, const RequestOptions& options) {
  sent_ += 1;
  try {
    std::future<int> future = executor_->submit(input, options);
    requests_.emplace(input, Request{std::move(future), options});
  } catch (const BatchError& error) {
    note(input, 1, fate_of(error), options);
  }
}

void Subject::try_submit(int input) {
  sent_ += 1;
  int sent = input;
  try {
    if (auto future = executor_->try_submit(std::move(sent))) {
      requests_.emplace(input, Request{std::move(*future), {}});
      return;
    }
    note(input, 1, Fate::full, {});
  } catch (const BatchError& error) {
    note(input, 1, fate_of(error), {});
  }
}

void Subject::close(CloseMode mode) {
  closing_ = true;
  executor_->close(mode);
  take_answers();
}

void Subject::destroy() {
  closing_ = true;
  executor_.reset();
  take_answers();
}

void Subject::await_arrival(std::size_t items) {
  Execution::current()->reach("await that items arrive", nullptr, Where::current(), [&] {
    std::size_t seen = 0, told = 0;
    for (const auto& [input, times] : seen_) seen += times;
    for (const auto& [fate, times] : fates_) told += times;
    // Neither value is too high, and the first never decreases.
    return std::max(seen, told + executor_->workload()) >= items;
  });
}

void Subject::await_answer(int input) {
  const auto request = requests_.find(input);
  if (request == requests_.end()) return;
  Execution::current()->reach("await an answer", nullptr, Where::current(), [&] {
    return request->second.future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
}

std::size_t Subject::count(Fate fate) const {
  const auto found = fates_.find(fate);
  return found == fates_.end() ? 0 : found->second;
}

std::vector<int> Subject::predict(std::span<const int> inputs) {
  for (const int input : inputs)
    expect(++seen_[input] == 1 || isolates_, "predict sees an input twice");
  for (const int input : inputs)
    expect(input % predicting_.keys == inputs.front() % predicting_.keys, "two keys share a batch");
  const Running running(*this);
  Strand& self = Execution::current()->self();
  if (self.name != "vcap-batch") ++led_;
  if (predicting_.computes) self.busy += predicting_.takes;
  Execution::current()->advance(predicting_.takes);
  Execution::current()->pause("predict", Where::current());
  if (predicting_.held)
    Execution::current()->reach("predict is held", nullptr, Where::current(),
                                [this] { return released_; });
  std::vector<int> outputs;
  for (const int input : inputs) {
    if (predicting_.bad.contains(input)) throw BadInput("bad");
    outputs.push_back(2 * input);
  }
  return outputs;
}

Subject::Running::Running(Subject& subject) : of(subject) {
  expect(++of.running_ <= of.workers_, "more batches run at a time than the policy has workers");
}

Subject::Running::~Running() { --of.running_; }

template <class Receive>
void Subject::receive(int input, std::size_t items, const RequestOptions& options, Receive output) {
  try {
    expect(output() == 2 * input, "somebody gets the output of another's input");
    note(input, items, Fate::answered, options);
  } catch (const BatchError& error) {
    note(input, items, fate_of(error), options);
  } catch (const BadInput&) {
    note(input, items, Fate::failed, options);
  }
}

void Subject::note(int input, std::size_t items, Fate fate, const RequestOptions& options) {
  fates_[fate] += items;
  all_fates_.insert(fate);
  switch (fate) {
    case Fate::answered:
      return expect(!predicting_.bad.contains(input), "a bad input is answered with an output");
    case Fate::failed:
      return expect(!predicting_.bad.empty(), "an input fails though none is bad");
    case Fate::cancelled:
      expect(options.cancellation.stop_requested(), "cancelled, though nobody asked to stop");
      break;
    case Fate::expired:
      expect(options.deadline && *options.deadline <= Execution::current()->now(),
             "expired before the deadline");
      break;
    case Fate::full:
      break;
    case Fate::closed:
      expect(closing_, "closed, though nobody closes");
  }
  expect(items > 1 || seen_[input] == 0, "predict has seen an input that is then told otherwise");
}

// Takes the answers of all futures: what was accepted before the close must be answered by now.
void Subject::take_answers() {
  for (auto& [input, request] : std::exchange(requests_, {})) {
    expect(request.future.wait_for(std::chrono::seconds(0)) == std::future_status::ready,
           "closed, and a future is not ready");
    receive(input, 1, request.options, [&] { return request.future.get(); });
  }
}

void Subject::compare_statistics() {
  const BatchStatistics is = executor_->statistics();
  expect(is.queued == 0 && is.running == 0 && executor_->workload() == 0,
         "something waits or runs at the end");
  expect(
      is.accepted == is.answered + is.failed + is.dropped + is.expired + is.cancelled + is.closed,
      "the fates do not add up to what was accepted");
  expect(is.accepted <= sent_, "more was accepted than sent");
  if (shared_fates_) return;
  expect(is.answered == count(Fate::answered) && is.failed == count(Fate::failed) &&
             is.expired == count(Fate::expired) && is.cancelled == count(Fate::cancelled),
         "the statistics are not those of what the senders got");
  expect(
      is.closed <= count(Fate::closed) && is.dropped <= count(Fate::full) &&
          sent_ - is.accepted + is.closed + is.dropped == count(Fate::closed) + count(Fate::full),
      "the statistics are not those of what the senders were refused");
}

}  // namespace vcap::model
