// SPDX-License-Identifier: Apache-2.0
#include "harness/execution.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <string_view>
#include <utility>

#include "harness/quarantine.hpp"

namespace vcap::model {
namespace {

Execution* current_execution = nullptr;
std::uint64_t runs = 0;  // of all executions

constexpr auto kNever = [] { return false; };

std::string_view file_of(const Where& where) {
  const std::string_view path = where.file_name();
  return path.substr(path.rfind('/') + 1);
}

// The name of a function without its types, which the compiler gives too.
std::string_view function_of(const Where& where) {
  std::string_view name = where.function_name();
  name = name.substr(0, name.find('('));
  if (const auto space = name.rfind(' '); space != name.npos) name.remove_prefix(space + 1);
  if (const auto scope = name.rfind("::"); scope != name.npos) name.remove_prefix(scope + 2);
  return name;
}

std::string place_of(const Where& where) {
  std::ostringstream text;
  text << file_of(where) << ':' << where.line();
  if (const auto function = function_of(where); !function.empty()) text << ' ' << function;
  return text.str();
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
  hash ^= more + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2);
  hash *= 0xBF58476D1CE4E5B9u;
  return hash ^ hash >> 31;
}

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

Execution* Execution::current() noexcept { return current_execution; }

std::optional<std::string> Execution::run(const std::function<void()>& scenario, Choices& choices,
                                          States& states) {
  choices_ = &choices;
  states_ = &states;
  chooses_ = true;
  used_ = 0;
  now_ = kStart;
  preemptions_ = spurious_ = 0;
  steps_.clear();
  objects_.clear();
  decisions_ = 0;
  run_number_ = ++runs;
  numbers_ = 0;
  steps_.reserve(limits_.steps + 1);

  const Quarantine quarantine;
  current_execution = this;
  running_ = nullptr;
  running_ = &start(scenario, Where::current());
  running_->name = "main";
  interrupted_ = false;
  switch_context(outside_, *running_->context);
  current_execution = nullptr;
  return std::exchange(failure_, std::nullopt);
}

Strand& Execution::start(std::function<void()> body, const Where& where) {
  if (used_ == strands_.size()) {
    strands_.emplace_back();
    fibers_.emplace_back();
  }
  Strand& strand = strands_[used_];
  strand = {};
  strand.name = "thread " + std::to_string(used_);
  strand.body = std::move(body);
  strand.context = &fibers_[used_].context();
  fibers_[used_].set_body([this, &strand] {
    note("begins", nullptr, strand.where);
    std::exchange(strand.body, nullptr)();
    end_strand();
  });
  strand.where = where;
  strand.history = mixed(running_ ? running_->history : 0, used_);
  ++used_;
  return strand;
}

void Execution::reach(const char* operation, const void* object, const Where& where,
                      Condition can_go_on) {
  running_->operation = operation;
  running_->where = where;
  running_->can_go_on = can_go_on;
  decide(false);
  note(operation, object, where);
}

void Execution::pause(const char* operation, const Where& where) {
  note(operation, nullptr, where);
  running_->operation = operation;
  running_->where = where;
  running_->can_go_on = {};
  decide(true);
  note("goes on", nullptr, where);
}

void Execution::sleep(const void* object, TimePoint time, const char* operation, const Where& where,
                      Condition can_go_on) {
  note(operation, object, where);
  running_->sleeps_on = object;
  running_->wakes_at = time;
  running_->operation = operation;
  running_->where = where;
  running_->can_go_on = can_go_on;
  decide(false);
  note("wakes", object, where);
}

void Execution::note(const char* operation, const void* object, const Where& where) {
  learn(number_of(operation));
  learn(static_cast<std::uint64_t>(running_->resumed));
  if (object) touch(object);
  steps_.push_back({running_, operation, where, std::exchange(running_->resumed, {}),
                    std::exchange(interrupted_, false)});
}

void Execution::learn(std::uint64_t what) noexcept {
  if (asks_) return;
  running_->history = mixed(running_->history, what);
}

void Execution::touch(const void* object) {
  auto found = std::find_if(objects_.begin(), objects_.end(),
                            [&](const auto& known) { return known.first == object; });
  if (found == objects_.end()) found = objects_.insert(found, {object, 0});
  learn(found->second);
  found->second = running_->history;
}

bool Execution::wake_one(const void* object) {
  sleepers_.clear();
  for (std::size_t i = 0; i < used_; ++i)
    if (strands_[i].sleeps_on == object) sleepers_.push_back(&strands_[i]);
  if (sleepers_.empty()) return false;
  const std::size_t one = sleepers_.size() == 1 ? 0 : choose(sleepers_.size());
  learn(one);
  sleepers_[one]->sleeps_on = nullptr;
  return true;
}

void Execution::wake_all(const void* object) {
  for (std::size_t i = 0; i < used_; ++i)
    if (strands_[i].sleeps_on == object) strands_[i].sleeps_on = nullptr;
}

void Execution::fail(const std::string& what) {
  failure_ = what + "\n" + story();
  switch_context(*running_->context, outside_);
  std::abort();
}

std::string Execution::story() const {
  std::ostringstream text;
  for (const Step& step : steps_) {
    text << (step.interrupted ? "  ! " : "    ") << step.strand->name << ": " << step.operation;
    if (step.resumed == Strand::Resumed::by_time) text << " by its time";
    if (step.resumed == Strand::Resumed::spuriously) text << " for no reason";
    text << "  (" << place_of(step.where) << ")\n";
  }
  text << "  A mark shows where a strand was interrupted that could have gone on.\n"
       << "  VCAP_MODEL_SCHEDULE=" << limits_.preemptions << ':' << choices_->text()
       << " plays this schedule alone.";
  return text.str();
}

// Chooses the strand that takes the next step, and switches to it. Returns at the caller's turn.
void Execution::decide(bool pauses) {
  if (++decisions_ > limits_.steps)
    fail("no end after " + std::to_string(limits_.steps) + " steps");
  asks_ = true;
  find_options(pauses);
  asks_ = false;
  if (options_.empty()) {
    if (const std::string text = waiting(); !text.empty()) fail("deadlock: " + text);
    return switch_context(*running_->context, outside_);
  }
  std::size_t chosen = 0;
  if (options_.size() > 1) {
    if (chooses_ && choices_->is_new() && !limits_.repeats && has_been_here(pauses))
      chooses_ = false;
    chosen = choose(options_.size());
  }
  const Option option = options_[chosen];
  Strand& next = *option.strand;
  interrupted_ = option.preemptions > 0;
  preemptions_ += option.preemptions;
  if (option.how == Strand::Resumed::spuriously) ++spurious_;
  if (option.how == Strand::Resumed::by_time) now_ = std::max(now_, next.wakes_at);
  next.resumed = option.how;
  next.sleeps_on = nullptr;
  next.wakes_at = TimePoint::max();
  Strand& from = *std::exchange(running_, &next);
  // This must be the last action, as above: a strand that has ended returns here in a later run.
  if (&from != &next) switch_context(*from.context, *next.context);
}

void Execution::find_options(bool pauses) {
  options_.clear();
  const auto wakes_by_itself = [this](const Strand& strand) {
    return strand.sleeps_on && strand.wakes_at > now_;
  };
  const bool can_go_on = !wakes_by_itself(*running_) && running_->can_go_on.holds();
  const int cost = can_go_on && !pauses ? 1 : 0;
  const bool may_switch = preemptions_ + cost <= limits_.preemptions;
  if (can_go_on) options_.push_back({running_, Strand::Resumed::normally, 0});
  if (!may_switch) return;

  for (std::size_t i = 0; i < used_; ++i)
    if (Strand& strand = strands_[i];
        &strand != running_ && !wakes_by_itself(strand) && strand.can_go_on.holds())
      options_.push_back({&strand, Strand::Resumed::normally, cost});
  const bool idle = options_.empty();
  if (!idle && preemptions_ >= limits_.preemptions) return;
  TimePoint latest = TimePoint::max();  // time may pass up to this point
  if (!limits_.time_presses)
    for (std::size_t i = 0; i < used_; ++i)
      if (wakes_by_itself(strands_[i])) latest = std::min(latest, strands_[i].wakes_at);
  for (std::size_t i = 0; i < used_; ++i) {
    Strand& strand = strands_[i];
    if (!wakes_by_itself(strand) || !strand.can_go_on.holds()) continue;
    if (strand.wakes_at != TimePoint::max() && strand.wakes_at <= latest &&
        (idle || limits_.time_presses))
      options_.push_back({&strand, Strand::Resumed::by_time, idle ? 0 : 1});
    if (!idle && spurious_ < limits_.spurious)
      options_.push_back({&strand, Strand::Resumed::spuriously, 1});
  }
}

std::uint64_t Execution::state() const {
  std::uint64_t hash = mixed(static_cast<std::uint64_t>(now_.time_since_epoch().count()),
                             static_cast<std::uint64_t>(spurious_));
  for (std::size_t i = 0; i < used_; ++i) {
    const Strand& strand = strands_[i];
    hash = mixed(hash, strand.history);
    hash = mixed(hash, number_of(strand.operation));
    hash = mixed(hash, strand.where.line());
    hash = mixed(hash, strand.sleeps_on ? 1 : 0);
  }
  return hash;
}

// Whether the search has already continued from this state with as many preemptions left. If not,
// records that it continues from here.
bool Execution::has_been_here(bool pauses) {
  const auto self = static_cast<std::uint64_t>(
      std::find_if(strands_.begin(), strands_.end(),
                   [this](const Strand& strand) { return &strand == running_; }) -
      strands_.begin());
  const auto [place, is_new] =
      states_->try_emplace(mixed(state(), 2 * self + (pauses ? 1 : 0)), preemptions_left());
  if (is_new) return false;
  if (place->second >= preemptions_left()) return true;
  place->second = preemptions_left();
  return false;
}

std::size_t Execution::choose(std::size_t count) {
  if (!chooses_) return 0;
  try {
    return choices_->next(count);
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void Execution::end_strand() {
  note("ends", nullptr, running_->where);
  running_->ended = true;
  running_->operation = "ended";
  running_->can_go_on = kNever;
  decide(false);
}

// What the strands that have not ended wait for.
std::string Execution::waiting() const {
  std::string text;
  for (std::size_t i = 0; i < used_; ++i) {
    const Strand& strand = strands_[i];
    if (strand.ended) continue;
    if (!text.empty()) text += "; ";
    text += strand.name + " waits in \"" + strand.operation + "\" (" + place_of(strand.where) + ")";
  }
  return text;
}

}  // namespace vcap::model
