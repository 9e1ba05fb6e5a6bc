// SPDX-License-Identifier: Apache-2.0
#include "cli/closing_bound.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_exit.hpp"

namespace vcap::cli {
namespace {

constexpr std::chrono::seconds kLeastLimit{1};

}  // namespace

struct ClosingBound::State {
  explicit State(Clock::duration given) : limit(given) {}

  void run() VCAP_EXCLUDES(mutex);

  const Clock::duration limit;
  Mutex mutex;
  CondVar changed;
  std::string step VCAP_GUARDED_BY(mutex);
  Clock::time_point deadline VCAP_GUARDED_BY(mutex);
  bool runs VCAP_GUARDED_BY(mutex) = false;
};

void ClosingBound::State::run() {
  const MutexLock lock(mutex);
  for (auto now = std::chrono::steady_clock::now(); now < deadline;
       now = std::chrono::steady_clock::now())
    changed.wait_until(mutex, deadline);
  // Directly: the objects of the program may be destroyed already.
  const std::string text =
      "vcap: " + step + " has not returned within " +
      number_text(std::chrono::duration<double>(limit).count()) +
      " s; the process ends without it. Complete outputs have their names. --grace sets the time\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  leave_now(kHung);
}

ClosingBound::ClosingBound(Clock::duration limit)
    : state_(std::make_shared<State>(std::max<Clock::duration>(limit, kLeastLimit))) {}

void ClosingBound::begin(std::string what) {
  State& state = *state_;
  const MutexLock lock(state.mutex);
  state.step = std::move(what);
  state.deadline = std::chrono::steady_clock::now() + state.limit;
  state.changed.notify_all();
  if (std::exchange(state.runs, true)) return;
  try {
    std::thread([shared = state_] { shared->run(); }).detach();
  } catch (const std::system_error&) {
    state.runs = false;  // tried again at the next step
  }
}

}  // namespace vcap::cli
