// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/log.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "base/thread_annotations.hpp"

namespace vcap {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      break;
  }
  return spdlog::level::err;
}

/// Not in spdlog's registry, which belongs to the host.
spdlog::logger make_default_writer() {
  spdlog::logger logger("vcap", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger.set_pattern("%Y-%m-%d %H:%M:%S.%e %n %^%l%$: %v");
  logger.set_level(spdlog::level::warn);
  logger.flush_on(spdlog::level::warn);
  return logger;
}

struct State {
  Mutex mutex;
  std::shared_ptr<const LogHook> hook VCAP_GUARDED_BY(mutex);  // null: the default writer
  spdlog::logger default_writer = make_default_writer();
};

/// Never destroyed: threads and static objects may still log while the process ends.
State& state() {
  static State* const instance = new State;
  return *instance;
}

void write_by_default(LogLevel level, std::string_view message) {
  state().default_writer.log(spdlog_level(level),
                             spdlog::string_view_t(message.data(), message.size()));
}

std::shared_ptr<const LogHook> current_hook() {
  State& shared = state();
  const MutexLock lock(shared.mutex);
  return shared.hook;
}

/// True while this thread is within the hook.
thread_local bool in_hook = false;

void call_hook(const LogHook& hook, LogLevel level, std::string_view message) {
  in_hook = true;
  std::string failure;
  try {
    hook(level, message);
  } catch (const std::exception& error) {
    failure = std::string("the log hook threw: ") + error.what();
  } catch (...) {
    failure = "the log hook threw something that is not a std::exception";
  }
  in_hook = false;
  if (failure.empty()) return;
  write_by_default(LogLevel::error, failure);
  write_by_default(level, message);
}

}  // namespace

void set_log_hook(LogHook hook) {
  auto next = hook ? std::make_shared<const LogHook>(std::move(hook)) : nullptr;
  State& shared = state();
  const MutexLock lock(shared.mutex);
  shared.hook.swap(next);
  // `next` is declared before the lock, so it is destroyed after unlocking: destroying the old hook
  // may run host code.
}

void log(LogLevel level, std::string_view message) noexcept {
  try {
    const auto hook = in_hook ? nullptr : current_hook();
    if (hook) {
      call_hook(*hook, level, message);
    } else {
      write_by_default(level, message);
    }
  } catch (...) {
    // A log line that fails must not fail the caller.
  }
}

}  // namespace vcap
