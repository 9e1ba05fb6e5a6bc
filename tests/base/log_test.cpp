// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/log.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace vcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class Log : public testing::Test {
 protected:
  ~Log() override { set_log_hook({}); }

  /// The text that `write` puts on standard error.
  template <class Function>
  static std::string standard_error_of(Function&& write) {
    testing::internal::CaptureStderr();
    write();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, GivesTheHookLevelAndMessage) {
  std::vector<std::pair<LogLevel, std::string>> lines;
  set_log_hook([&](LogLevel level, std::string_view line) { lines.emplace_back(level, line); });
  log(LogLevel::debug, "one");
  log(LogLevel::error, "two {} %s");
  EXPECT_THAT(lines, ElementsAre(Pair(LogLevel::debug, "one"), Pair(LogLevel::error, "two {} %s")));
}

TEST_F(Log, WritesNothingToStandardErrorWhenThereIsAHook) {
  set_log_hook([](LogLevel, std::string_view) {});
  EXPECT_THAT(standard_error_of([] { log(LogLevel::error, "for the hook"); }), IsEmpty());
}

TEST_F(Log, WritesWarningsAndErrorsToStandardErrorByDefault) {
  const std::string text = standard_error_of([] {
    log(LogLevel::warning, "low on {} memory");
    log(LogLevel::error, "out of memory");
  });
  EXPECT_THAT(text,
              AllOf(HasSubstr("warning: low on {} memory\n"), HasSubstr("error: out of memory\n")));
}

TEST_F(Log, WritesNoInfoAndDebugByDefault) {
  EXPECT_THAT(standard_error_of([] {
                log(LogLevel::info, "loaded");
                log(LogLevel::debug, "details");
              }),
              IsEmpty());
}

TEST_F(Log, ReturnsToTheDefaultWithAnEmptyHook) {
  int calls = 0;
  set_log_hook([&](LogLevel, std::string_view) { ++calls; });
  set_log_hook({});
  EXPECT_THAT(standard_error_of([] { log(LogLevel::error, "here"); }), HasSubstr("here"));
  EXPECT_EQ(calls, 0);
}

TEST_F(Log, HidesAnExceptionOfTheHookFromTheCaller) {
  set_log_hook([](LogLevel, std::string_view) { throw std::runtime_error("disk full"); });
  EXPECT_THAT(standard_error_of([] { log(LogLevel::warning, "the line"); }),
              AllOf(HasSubstr("disk full"), HasSubstr("the line")));
}

TEST_F(Log, HidesAThrownNonExceptionFromTheCaller) {
  set_log_hook([](LogLevel, std::string_view) { throw 7; });
  EXPECT_THAT(standard_error_of([] { log(LogLevel::warning, "the line"); }), HasSubstr("the line"));
}

TEST_F(Log, CallsTheHookAgainAfterItThrew) {
  int calls = 0;
  set_log_hook([&](LogLevel, std::string_view) {
    ++calls;
    throw std::runtime_error("always");
  });
  standard_error_of([] {
    log(LogLevel::warning, "one");
    log(LogLevel::warning, "two");
  });
  EXPECT_EQ(calls, 2);
}

TEST_F(Log, SendsLinesThatAHookLogsToTheDefault) {
  int calls = 0;
  set_log_hook([&](LogLevel, std::string_view) {
    ++calls;
    log(LogLevel::error, "from within");
  });
  EXPECT_THAT(standard_error_of([] { log(LogLevel::info, "from outside"); }),
              HasSubstr("from within"));
  EXPECT_EQ(calls, 1);
}

TEST_F(Log, LetsAHookReplaceItself) {
  int second = 0;
  set_log_hook([&](LogLevel, std::string_view) {
    set_log_hook([&](LogLevel, std::string_view) { ++second; });
  });
  log(LogLevel::info, "to the first");
  log(LogLevel::info, "to the second");
  EXPECT_EQ(second, 1);
}

TEST_F(Log, FreesTheHookThatWasReplaced) {
  struct LogsWhenFreed {
    ~LogsWhenFreed() { log(LogLevel::info, "freed"); }  // must not wait for a lock
  };
  auto owned = std::make_shared<LogsWhenFreed>();
  const std::weak_ptr<LogsWhenFreed> watch = owned;
  set_log_hook([owned = std::move(owned)](LogLevel, std::string_view) {});
  ASSERT_FALSE(watch.expired());
  std::vector<std::string> lines;
  set_log_hook([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  EXPECT_TRUE(watch.expired());
  EXPECT_THAT(lines, ElementsAre("freed"));
}

TEST_F(Log, LosesNoLineWhileHooksAreReplaced) {
  constexpr int kThreads = 4;
  constexpr int kLines = 2000;
  std::atomic<int> seen = 0;
  const auto counting = [&](LogLevel, std::string_view) { ++seen; };
  set_log_hook(counting);
  {
    std::vector<std::jthread> writers;
    for (int i = 0; i < kThreads; ++i) {
      writers.emplace_back([] {
        for (int line = 0; line < kLines; ++line) log(LogLevel::info, "line");
      });
    }
    for (int i = 0; i < 500; ++i) set_log_hook(counting);
  }
  EXPECT_EQ(seen, kThreads * kLines);
}

}  // namespace
}  // namespace vcap
