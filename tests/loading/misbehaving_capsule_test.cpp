// SPDX-License-Identifier: Apache-2.0
// Tests of capsules that throw in each function, or change the state of their host.
#include <fenv.h>
#include <gmock/gmock.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>

#include <clocale>
#include <cstdlib>
#include <exception>
#include <functional>
#include <locale>
#include <mutex>
#include <ostream>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/host_guard.hpp"
#include "loading/capsule_builder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using test::CapsuleBuilder;
using test::small_frame;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::shared_ptr<Capsule> load_bytes(const std::string& bytes, json config = json::object()) {
  return load_capsule(std::as_bytes(std::span(bytes)),
                      {.config = std::move(config), .devices = {"CPU:0"}});
}

std::shared_ptr<Capsule> load_thrower(const std::string& where, const std::string& what) {
  static const std::string bytes = [] {
    const TemporaryFolder folder;
    package_capsule(
        {.libraries = {{std::string(platform()), test::plugin_path("throws_when_told")}}},
        folder / "a.cap");
    return test::read_file(folder / "a.cap");
  }();
  return load_bytes(bytes, {{"where", where}, {"what", what}});
}

class CapsuleThatThrowsANumber : public testing::TestWithParam<const char*> {};

TEST_P(CapsuleThatThrowsANumber, IsRefusedWithThePlace) {
  const std::string plugin = std::string("throws_number_in_") + GetParam();
  EXPECT_THAT(
      [&] { load_bytes(CapsuleBuilder(plugin).set("/info/device_mapper", "seven").bytes()); },
      ThrowsError<CapsuleLoadError>(ErrorCode::capsule_threw,
                                    HasSubstr("an exception that is not a std::exception")));
}

INSTANTIATE_TEST_SUITE_P(All, CapsuleThatThrowsANumber,
                         testing::Values("entry", "info", "device_mapper"),
                         [](const auto& one) { return std::string(one.param); });

TEST(ThrowingCapsule, IsRefusedIfItsBackendThrowsANumber) {
  EXPECT_THAT([] { load_thrower("load_backend", "number"); },
              ThrowsError<CapsuleLoadError>(ErrorCode::backend_load_failed,
                                            HasSubstr("not a std::exception")));
}

/// Whether it throws what is no std::exception; of which type only its own process knows.
bool throws_a_number(const std::function<void()>& action) {
  try {
    action();
    return false;
  } catch (...) {
    return exception_text(std::current_exception()) == "an exception that is not a std::exception";
  }
}

class CapsuleThatThrowsInAFrame : public testing::TestWithParam<const char*> {};

TEST_P(CapsuleThatThrowsInAFrame, FailsThatFrameAndCloses) {
  const auto with_text = load_thrower(GetParam(), "text");
  EXPECT_THAT([&] { with_text->process_frame(small_frame(), {}, {}, "a"); },
              testing::ThrowsMessage<std::runtime_error>("told to"));
  const auto with_number = load_thrower(GetParam(), "number");
  EXPECT_TRUE(throws_a_number([&] { with_number->process_frame(small_frame(), {}, {}, "a"); }));
}

INSTANTIATE_TEST_SUITE_P(All, CapsuleThatThrowsInAFrame,
                         testing::Values("process_frame", "batch_predict", "batch_key"),
                         [](const auto& one) { return std::string(one.param); });

TEST(ThrowingCapsule, FailsTheFrameThatNeedsAState) {
  const auto capsule = load_thrower("", "");
  capsule->open_stream({.id = "a", .config = {{"where", "stream_state"}, {"what", "number"}}});
  EXPECT_THAT([&] { capsule->process_frame(small_frame(), {}, {}, "a"); },
              ThrowsError<Error>(ErrorCode::capsule_threw, HasSubstr("not a std::exception")));
  EXPECT_NO_THROW(capsule->process_frame(small_frame(), {}, {}, "b"));
}

TEST(ThrowingCapsule, FailsACallForDistances) {
  const auto capsule = load_thrower("distances", "number");
  EXPECT_TRUE(throws_a_number([&] { capsule->distances({}, {}); }));
}

/// Collects the log's warnings and errors while it lives.
class Warnings {
 public:
  Warnings() {
    set_log_hook([this](LogLevel level, std::string_view message) {
      if (level < LogLevel::warning) return;
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(message);
    });
  }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  ~Warnings() { set_log_hook({}); }

  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST(ThrowingCapsule, IsClosedEvenIfItCannotBeDrained) {
  const Warnings warnings;
  load_thrower("drain", "number")->close();
  EXPECT_THAT(warnings.lines(), ElementsAre(AllOf(HasSubstr("drained"), HasSubstr("CPU:0"))));
}

/// The host's process state that capsules must not change, as one text.
std::string host_state() {
  json state = {{"c_locale", std::setlocale(LC_ALL, nullptr)},
                {"locale", std::locale().name()},
                {"thread_locale", reinterpret_cast<std::uintptr_t>(::uselocale(locale_t{}))},
                {"folder", std::filesystem::current_path()},
                {"rounding", ::fegetround()}};
  const mode_t mask = ::umask(0);
  ::umask(mask);
  state["umask"] = mask;
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0) continue;
    constexpr int kRestorer = 0x04000000;  // a flag that the C library sets
    state["signals"].push_back({reinterpret_cast<std::uintptr_t>(action.sa_handler),
                                action.sa_flags & ~kRestorer, ::sigismember(&blocked, signal)});
  }
  return state.dump();
}

struct MeddlingCase {
  const char* where;
  const char* what;
  const char* reported;

  friend void PrintTo(const MeddlingCase& one, std::ostream* out) {
    *out << one.where << ' ' << one.what;
  }
};

class MeddlingCapsule : public testing::TestWithParam<MeddlingCase> {
 protected:
  MeddlingCapsule() { ::setenv("VCAP_TEST_MEDDLE", told().c_str(), 1); }
  ~MeddlingCapsule() override { ::unsetenv("VCAP_TEST_MEDDLE"); }

  static std::string told() { return std::string(GetParam().where) + " " + GetParam().what; }
  /// A capsule whose library no other test has loaded, so that its initialisers run.
  static std::string fresh_capsule() {
    CapsuleBuilder capsule("meddles");
    capsule.files[test::library_entry()] += told();
    return capsule.bytes();
  }
};

TEST_P(MeddlingCapsule, IsReportedAndItsChangesAreUndone) {
  const std::string before = host_state();
  const Warnings warnings;
  load_bytes(fresh_capsule())->process_frame(small_frame());
  EXPECT_EQ(host_state(), before);
  EXPECT_THAT(warnings.lines(),
              ElementsAre(AllOf(HasSubstr("capsule"), HasSubstr(GetParam().reported),
                                HasSubstr("was restored"))));
}

INSTANTIATE_TEST_SUITE_P(
    WhatItChanges, MeddlingCapsule,
    testing::Values(MeddlingCase{"info", "c_locale", "changed the locale;"},
                    MeddlingCase{"info", "locale", "changed the locale;"},
                    MeddlingCase{"info", "facet", "changed the locale;"},
                    MeddlingCase{"info", "thread_locale", "changed the thread's locale;"},
                    MeddlingCase{"info", "folder", "changed the working directory;"},
                    MeddlingCase{"info", "umask", "changed the umask;"},
                    MeddlingCase{"info", "SIGINT", "changed the handler of SIGINT;"},
                    MeddlingCase{"info", "SIGCHLD", "changed the handler of SIGCHLD;"},
                    MeddlingCase{"info", "SIGSEGV", "changed the handler of SIGSEGV;"},
                    MeddlingCase{"info", "rounding", "changed the floating-point modes;"},
                    MeddlingCase{"info", "blocked", "changed the thread's signal mask;"}),
    [](const auto& one) { return std::string(one.param.what); });

INSTANTIATE_TEST_SUITE_P(WhereItDoes, MeddlingCapsule,
                         testing::Values(MeddlingCase{"library", "SIGUSR1", "SIGUSR1;"},
                                         MeddlingCase{"entry", "SIGUSR1", "SIGUSR1;"},
                                         MeddlingCase{"constructor", "SIGUSR1", "SIGUSR1;"},
                                         MeddlingCase{"load_backend", "SIGUSR1", "SIGUSR1;"},
                                         MeddlingCase{"drain", "SIGUSR1", "SIGUSR1;"},
                                         MeddlingCase{"close", "SIGUSR1", "SIGUSR1;"},
                                         MeddlingCase{"backend_destructor", "SIGUSR1", "SIGUSR1;"},
                                         MeddlingCase{"destructor", "SIGUSR1", "SIGUSR1;"}),
                         [](const auto& one) { return std::string(one.param.where); });

using CapsuleThatLeavesAThread = MeddlingCapsule;

TEST_P(CapsuleThatLeavesAThread, KeepsItsLibraryLoaded) {
  const std::string bytes = fresh_capsule();
  load_bytes(bytes)->process_frame(small_frame());
  // The thread still runs the library's code, though its capsule no longer exists.
  for (int round = 0; round < 3; ++round) load_bytes(bytes)->process_frame(small_frame());
  EXPECT_NO_THROW(load_bytes(bytes)->process_frame(small_frame()));
}

INSTANTIATE_TEST_SUITE_P(All, CapsuleThatLeavesAThread,
                         testing::Values(MeddlingCase{"library", "thread", ""},
                                         MeddlingCase{"load_backend", "thread", ""},
                                         MeddlingCase{"close", "thread", ""},
                                         MeddlingCase{"destructor", "thread", ""}),
                         [](const auto& one) { return std::string(one.param.where); });

TEST(HostGuard, LogsNothingIfNothingChanged) {
  const Warnings warnings;
  { const detail::HostGuard guard("nobody"); }
  EXPECT_THAT(warnings.lines(), IsEmpty());
}

TEST(HostGuard, RestoresTheStateFromBeforeTheFirstOfOverlappingGuards) {
  const std::string before = host_state();
  const Warnings warnings;
  {
    const detail::HostGuard outer("outer");
    {
      const detail::HostGuard inner("inner");
      std::setlocale(LC_ALL, "C.UTF-8");
    }
    EXPECT_EQ(host_state(), before);
  }
  EXPECT_THAT(warnings.lines(),
              ElementsAre(AllOf(HasSubstr("inner, or another"), HasSubstr("the locale"))));
}

TEST(HostGuard, MayBeHeldByManyThreadsAtOnce) {
  const std::string before = host_state();
  const Warnings warnings;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int round = 0; round < 50; ++round) {
        const detail::HostGuard guard("one of many");
        ::umask(0);
      }
    });
  threads.clear();
  EXPECT_EQ(host_state(), before);
  EXPECT_THAT(warnings.lines(), testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace vcap
