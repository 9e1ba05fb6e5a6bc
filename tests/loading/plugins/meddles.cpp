// SPDX-License-Identifier: Apache-2.0
// Changes state of the host. The environment variable VCAP_TEST_MEDDLE says where and what, such
// as "info locale".
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <locale>
#include <thread>

#include "fixture.hpp"

namespace {

/// Starts a thread that never ends and keeps using the library's code and data.
void leave_thread() {
  static std::atomic<unsigned> rounds = 0;
  std::thread([] {
    for (;;) {
      ++rounds;
      ::usleep(100);
    }
  }).detach();
}

void change(const std::string& what) {
  const auto handler = [](int) {};
  if (what == "c_locale") std::setlocale(LC_ALL, "C.UTF-8");
  if (what == "locale") std::locale::global(std::locale("C.UTF-8"));
  if (what == "facet") std::locale::global(std::locale(std::locale(), new std::numpunct<char>));
  if (what == "thread_locale") {
    static const locale_t other = ::newlocale(LC_ALL_MASK, "C.UTF-8", locale_t{});
    ::uselocale(other);
  }
  if (what == "folder" && ::chdir("/") != 0) std::abort();
  if (what == "umask") ::umask(0);
  if (what == "SIGINT") std::signal(SIGINT, handler);
  if (what == "SIGCHLD") std::signal(SIGCHLD, SIG_IGN);
  if (what == "SIGSEGV") std::signal(SIGSEGV, handler);
  if (what == "SIGUSR1") std::signal(SIGUSR1, handler);
  if (what == "rounding") ::fesetround(FE_UPWARD);
  if (what == "blocked") {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  }
  if (what == "thread") leave_thread();
}

void meddle(const std::string& where) {
  const char* const told = std::getenv("VCAP_TEST_MEDDLE");
  const std::string text = told != nullptr ? told : "";
  if (text.starts_with(where + " ")) change(text.substr(where.size() + 1));
}

struct Backend final : vcap::Backend {
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    return vcap::DetectionNodes::all();
  }
  void drain() override { meddle("drain"); }
  void close() noexcept override { meddle("close"); }
  ~Backend() override { meddle("backend_destructor"); }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  Capsule() { meddle("constructor"); }
  ~Capsule() override { meddle("destructor"); }
  static vcap::CapsuleInfo info() {
    meddle("info");
    return fixture::info("fixture");
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    meddle("load_backend");
    return std::make_unique<Backend>();
  }
};

/// Runs when the library is loaded.
const bool meddled = (meddle("library"), true);

}  // namespace

extern "C" VCAP_EXPORT const vcap::CapsulePlugin* vcap_capsule_plugin() {
  meddle("entry");
  static const vcap::CapsulePlugin plugin{
      sizeof(vcap::CapsulePlugin), vcap::kApiVersion, VCAP_ABI_TAG, [] { return Capsule::info(); },
      []() -> std::unique_ptr<vcap::BaseCapsule> { return std::make_unique<Capsule>(); }};
  return meddled ? &plugin : nullptr;
}
