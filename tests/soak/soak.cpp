// SPDX-License-Identifier: Apache-2.0
// For a given time, opens and closes streams, and replaces capsules that also hang and fail. At the
// end, checks whether a resource grew, and whether every frame is accounted for.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "capsules.hpp"
#include "resources.hpp"
#include "stream_slot.hpp"
#include "support/paths.hpp"
#include "trend.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::soak {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Arguments {
  std::chrono::seconds duration{0};
  bool fast = false;
  bool leaks = false;
  double limit_mib = 1;  ///< of growth in 10 minutes
  std::string footage{};
};

/// How often things happen.
struct Pace {
  std::chrono::milliseconds stream = 1s;  ///< one stream ends, another begins; memory is measured
  std::chrono::milliseconds replacement = 60s;
  std::chrono::milliseconds hang = 97s;
  std::chrono::milliseconds line = 60s;
  std::chrono::milliseconds deadline = 500ms;
  std::chrono::milliseconds outage = 2s;
};
constexpr Pace kFast{100ms, 2s, 3s, 5s, 100ms, 200ms};

constexpr int kSlots = 12;
constexpr double kMoreDescriptors = 4, kMoreThreads = 8;  // the pool starts workers when needed

/// Counts lines of the log instead of printing them.
struct LogCounts {
  std::atomic<std::int64_t> failed_trials{0}, passed_trials{0}, given_up{0}, came_back{0};
  void note(std::string_view line) {
    const auto tells = [&](std::string_view words) {
      return line.find(words) != std::string_view::npos;
    };
    failed_trials += tells("failed in its trial") ? 1 : 0;
    passed_trials += tells("has passed its trial") ? 1 : 0;
    given_up += tells("goes on without it") ? 1 : 0;
    came_back += tells("has come back") ? 1 : 0;
  }
};

class Soak {
 public:
  explicit Soak(const Arguments& arguments);
  ~Soak() { set_log_hook({}); }
  Soak(const Soak&) = delete;
  Soak& operator=(const Soak&) = delete;

  /// Returns whether all checks passed.
  bool run();

 private:
  void exchange_a_stream();
  void replace_a_capsule();
  void sample();
  void print_line() const;
  void print_accounts() const;
  void end_all();
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  bool check() const;
  bool check_memory() const;
  bool check_count(const char* what, double Resources::*count, double more_allowed) const;
  std::vector<Sample> after_warm_up(double Resources::*what) const;

  const Arguments arguments_;
  const Pace pace_;
  const Clock::time_point begin_ = Clock::now();
  LogCounts log_;
  std::mt19937 engine_{20'250};
  std::shared_ptr<Hang> hang_ = std::make_shared<Hang>();
  std::vector<std::weak_ptr<Capsule>> capsules_{};  ///< all capsules so far that may be alive
  std::unique_ptr<Pipeline> pipeline_{};
  std::vector<std::unique_ptr<StreamSlot>> slots_{};
  Accounts accounts_{};
  int version_ = 1;
  std::int64_t replacements_ = 0, refused_ = 0;
  std::vector<std::pair<double, Resources>> samples_{};
};

Soak::Soak(const Arguments& arguments)
    : arguments_(arguments), pace_(arguments.fast ? kFast : Pace{}) {
  set_log_hook([this](LogLevel, std::string_view line) { log_.note(line); });
  hang_->time = 3 * pace_.deadline;
  const std::vector<std::shared_ptr<Capsule>> capsules{
      make_finder(version_, arguments.leaks),
      load_capsule(test::built("examples/capsules/tracker_person/tracker_person.cap")),
      make_counter(version_, hang_, false)};
  capsules_.assign(capsules.begin(), capsules.end());
  pipeline_ = std::make_unique<Pipeline>(capsules, Pipeline::Settings{.workers = 8});
  for (int i = 0; i < kSlots; ++i) {
    slots_.push_back(std::make_unique<StreamSlot>(*pipeline_, i,
                                                  StreamSlot::Settings{
                                                      .footage = arguments.footage,
                                                      .capsule_deadline = pace_.deadline,
                                                      .longest_outage = pace_.outage,
                                                  }));
    slots_.back()->open(engine_);
  }
}

bool Soak::run() {
  struct Turn {
    std::chrono::milliseconds period;
    void (Soak::*act)();
    Clock::time_point next;
  };
  std::vector<Turn> turns{
      {pace_.stream, &Soak::exchange_a_stream, begin_ + pace_.stream},
      {pace_.stream, &Soak::sample, begin_ + pace_.stream / 2},
      {pace_.replacement, &Soak::replace_a_capsule, begin_ + pace_.replacement}};
  Clock::time_point next_hang = begin_ + pace_.hang, next_line = begin_ + pace_.line;
  while (Clock::now() < begin_ + arguments_.duration && accounts_.fault.empty()) {
    const auto turn = std::ranges::min_element(turns, {}, &Turn::next);
    std::this_thread::sleep_until(turn->next);
    (this->*turn->act)();
    turn->next = std::max(turn->next + turn->period, Clock::now());
    if (Clock::now() >= next_hang) {
      hang_->wanted = true;
      next_hang += pace_.hang;
    }
    if (Clock::now() >= next_line) {
      print_line();
      next_line += pace_.line;
    }
  }
  end_all();
  print_line();
  print_accounts();
  return check();
}

void Soak::exchange_a_stream() {
  const auto ended =
      std::ranges::find_if(slots_, [](const auto& slot) { return slot->has_ended(); });
  StreamSlot& slot = ended != slots_.end() ? **ended : *slots_[engine_() % slots_.size()];
  slot.close(accounts_);
  slot.open(engine_);
}

void Soak::replace_a_capsule() {
  ++version_;
  const bool keep_state = engine_() % 2 == 0;
  std::shared_ptr<Capsule> capsule;
  std::int64_t trial_frames = engine_() % 2 == 0 ? 20 : 0;
  switch (version_ % 4) {
    case 0:
      capsule = load_capsule(test::built("examples/capsules/tracker_person/tracker_person.cap"));
      break;
    case 1:
      capsule = make_counter(version_, hang_, false);
      break;
    case 2:
      capsule = make_counter(version_, hang_, true);
      trial_frames = 20;  // without a trial, it would stay
      break;
    default:
      capsule = make_finder(version_, arguments_.leaks);
      trial_frames = 0;  // since it throws from time to time
  }
  try {
    capsules_.push_back(capsule);
    pipeline_->replace_capsule(std::move(capsule),
                               {.keep_state = keep_state, .trial_frames = trial_frames});
    ++replacements_;
  } catch (const InvalidArgument&) {
    ++refused_;  // the previous one is still on trial
  }
  std::erase_if(capsules_, [](const auto& old) { return old.expired(); });
}

void Soak::sample() { samples_.emplace_back(elapsed(), measure_resources()); }

void Soak::print_line() const {
  const Resources now = samples_.empty() ? Resources{} : samples_.back().second;
  std::printf(
      "%8.0f s: %8.0f KiB, %3.0f descriptors, %3.0f threads; %lld streams ended (%lld "
      "failed), %lld frames given, %lld recorded (%lld with errors); %lld capsules replaced "
      "(trials: %lld passed, %lld failed, %lld refused), %lld calls given up, %lld came back\n",
      elapsed(), now.memory_kib, now.descriptors, now.threads,
      static_cast<long long>(accounts_.streams), static_cast<long long>(accounts_.failed),
      static_cast<long long>(accounts_.given), static_cast<long long>(accounts_.recorded),
      static_cast<long long>(accounts_.errors), static_cast<long long>(replacements_),
      static_cast<long long>(log_.passed_trials), static_cast<long long>(log_.failed_trials),
      static_cast<long long>(refused_), static_cast<long long>(log_.given_up),
      static_cast<long long>(log_.came_back));
  std::fflush(stdout);
}

void Soak::print_accounts() const {
  std::printf("soak: of %lld frames, %lld were recorded", static_cast<long long>(accounts_.given),
              static_cast<long long>(accounts_.recorded));
  for (const auto& [reason, count] : accounts_.drops)
    std::printf(", %lld dropped (%s)", static_cast<long long>(count), reason.c_str());
  std::printf("\n");
}

void Soak::end_all() {
  for (const auto& slot : slots_) slot->close(accounts_);
  slots_.clear();
  pipeline_.reset();
  // A call that was given up keeps its capsule until it returns.
  const Clock::time_point latest = Clock::now() + 10 * hang_->time;
  while (Clock::now() < latest &&
         !std::ranges::all_of(capsules_, [](const auto& one) { return one.expired(); }))
    std::this_thread::sleep_for(10ms);
}

std::vector<Sample> Soak::after_warm_up(double Resources::*what) const {
  std::vector<Sample> samples;
  for (std::size_t i = samples_.size() / 5; i < samples_.size(); ++i)
    samples.push_back({samples_[i].first, samples_[i].second.*what});
  return samples;
}

bool fails(const std::string& sentence) {
  std::printf("soak: %s\n", sentence.c_str());
  return false;
}

bool Soak::check() const {
  if (!accounts_.fault.empty()) return fails(accounts_.fault);
  if (samples_.size() < 25)
    return fails("only " + std::to_string(samples_.size()) + " samples; take a longer time");
  const auto left =
      std::ranges::count_if(capsules_, [](const auto& one) { return !one.expired(); });
  bool well = left == 0 || fails(std::to_string(left) + " capsules are alive after their pipeline");
  well &= check_memory();
  well &= check_count("descriptors", &Resources::descriptors, kMoreDescriptors);
  well &= check_count("threads", &Resources::threads, kMoreThreads);
  if (well) std::printf("soak: all is well\n");
  return well;
}

bool Soak::check_memory() const {
  const Trend trend = trend_of(after_warm_up(&Resources::memory_kib));
  const auto mib = [](double kib_a_second) { return kib_a_second * 600 / 1024; };
  char numbers[128];
  std::snprintf(numbers, sizeof numbers, "%.2f MiB in 10 minutes (99 %%: %.2f to %.2f; limit %.2f)",
                mib(trend.slope), mib(trend.low), mib(trend.high), arguments_.limit_mib);
  if (mib(trend.slope) > arguments_.limit_mib && trend.low > 0)
    return fails("memory grows by " + std::string(numbers));
  std::printf("soak: the trend of memory is %s\n", numbers);
  return true;
}

bool Soak::check_count(const char* what, double Resources::*count, double more_allowed) const {
  const std::vector<Sample> samples = after_warm_up(count);
  std::vector<double> first, last;
  for (std::size_t i = 0; i < samples.size() / 4; ++i) {
    first.push_back(samples[i].value);
    last.push_back(samples[samples.size() - 1 - i].value);
  }
  const double before = median(std::move(first)), after = median(std::move(last));
  const std::string numbers =
      std::to_string(static_cast<int>(before)) + " to " + std::to_string(static_cast<int>(after));
  if (after > before + more_allowed)
    return fails("the number of " + std::string(what) + " grew from " + numbers);
  std::printf("soak: the number of %s went from %s\n", what, numbers.c_str());
  return true;
}

std::optional<std::chrono::seconds> duration_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  if (error != std::errc() || number <= 0) return {};
  if (unit == "s") return std::chrono::seconds(number);
  if (unit == "m") return std::chrono::minutes(number);
  if (unit == "h") return std::chrono::hours(number);
  return {};
}

std::optional<Arguments> read_arguments(const std::vector<std::string>& given) {
  Arguments arguments;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool has_value = i + 1 < given.size();
    if (given[i] == "--fast") {
      arguments.fast = true;
    } else if (given[i] == "--leak") {
      arguments.leaks = true;
    } else if (given[i] == "--footage" && has_value) {
      arguments.footage = given[++i];
    } else if (given[i] == "--limit" && has_value) {
      arguments.limit_mib = std::stod(given[++i]);
    } else if (const auto duration = duration_of(given[i])) {
      arguments.duration = *duration;
    } else {
      return {};
    }
  }
  if (arguments.duration.count() == 0 || arguments.footage.empty()) return {};
  return arguments;
}

}  // namespace
}  // namespace vcap::soak

int main(int argc, char** argv) {
  using namespace vcap::soak;
  const auto arguments = read_arguments({argv + 1, argv + argc});
  if (!arguments) {
    std::fprintf(stderr,
                 "vcap_soak DURATION --footage VIDEO [--fast] [--leak] [--limit MIB]\n"
                 "DURATION: such as 20s, 30m, 72h. --fast: all happens more often. --leak: a "
                 "capsule leaks. --limit: of growth in 10 minutes; 1.\n");
    return 2;
  }
  settle_allocator();
  try {
    return Soak(*arguments).run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "soak: %s\n", error.what());
    return 1;
  }
}
