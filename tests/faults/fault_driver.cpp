// SPDX-License-Identifier: Apache-2.0
//
//   LD_PRELOAD=fault_interposer.so fault_driver SCENARIO allocation|files PLUGIN
//
// Runs a scenario in which the first call fails, then the second, and so on, until no call fails.
// Each run has its own child process, since a process loads a library once. A run must succeed, or
// throw a std::exception and leave nothing behind. Two more runs in the same child must succeed.
// They must then hold the same memory and descriptors as if nothing had failed.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "faults.hpp"
#include "symbols.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/base/log.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace {

namespace fs = std::filesystem;

constexpr unsigned kHangSeconds = 30;

template <class Function>
Function interposed(const char* name) {
  void* const symbol = ::dlsym(RTLD_DEFAULT, name);
  if (symbol == nullptr) throw std::runtime_error("run me with LD_PRELOAD=fault_interposer.so");
  return reinterpret_cast<Function>(symbol);
}

struct Interposer {
  faults::Arm arm = interposed<faults::Arm>("fault_arm");
  faults::Disarm disarm = interposed<faults::Disarm>("fault_disarm");
  faults::Outstanding outstanding = interposed<faults::Outstanding>("fault_outstanding");
  faults::FailedCall failed_call = interposed<faults::FailedCall>("fault_failed_call");
  faults::FailedStack failed_stack = interposed<faults::FailedStack>("fault_failed_stack");
};

/// Whether the failed call has a direct or indirect caller whose mangled name contains `part`.
bool has_failed_in(const Interposer& interposer, const char* part) {
  void** callers = nullptr;
  const int count = interposer.failed_stack(callers);
  for (int i = 0; i < count; ++i)
    if (faults::function_at(callers[i]).find(part) != std::string::npos) return true;
  return false;
}

/// Whether a function of nlohmann::json made the failed call, directly or through the standard
/// library.
bool has_failed_in_json(const Interposer& interposer) {
  void** callers = nullptr;
  const int count = interposer.failed_stack(callers);
  for (int i = 2; i < count; ++i) {  // skips two functions of the interposer
    const std::string name = faults::function_at(callers[i]);
    const auto begins = [&name](const char* start) { return name.starts_with(start); };
    if (begins("_ZNSt") || begins("_ZNKSt") || begins("_ZSt") || begins("_ZN9__gnu_cxx")) continue;
    return begins("_ZN8nlohmann") || begins("_ZNK8nlohmann");
  }
  return false;
}

/// The destructor of nlohmann::json allocates memory, so it ends the process if there is none. If
/// an allocation fails while a value changes its type, the rest of the value cannot be destroyed.
/// Code that uses the library can prevent neither.
constexpr int kExcused = 77;

void print_failed_stack(const Interposer& interposer) {
  void** callers = nullptr;
  const int count = interposer.failed_stack(callers);
  for (int i = 0; i < count; ++i)
    std::fprintf(stderr, "  %s\n", faults::function_at(callers[i]).c_str());
}

void exit_where_json_ended_the_process(int signal) {
  std::signal(signal, SIG_DFL);
  const Interposer interposer;
  interposer.disarm();
  if (has_failed_in_json(interposer)) ::_exit(kExcused);
  print_failed_stack(interposer);
  std::raise(signal);
}

long count_of(const char* folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

/// What a finished run still holds, such as libraries and caches.
struct Holdings {
  long allocations = 0;
  long descriptors = 0;
  bool operator==(const Holdings&) const = default;
};

struct Scenario {
  std::function<void()> prepare{};  ///< before each run, without faults
  std::function<void()> run{};
};

vcap::PackageContents contents_of(const fs::path& plugin) {
  return {.libraries = {{std::string(vcap::platform()), plugin}},
          .files = {{"words.txt", "words.txt"}}};
}

void load_run_close(const fs::path& capsule_file) {
  const auto capsule = vcap::load_capsule(capsule_file, {.devices = {"CPU:0"}});
  unsigned char pixel[3] = {};
  const vcap::Frame frame{.image = cv::Mat(1, 1, CV_8UC3, pixel)};
  const auto nodes = capsule->process_frame(frame, {}, {}, "words");
  if (nodes.begin()->extra_data.at("size") != 5) throw std::logic_error("a wrong result");
  capsule->close();
}

/// Calls it in a child process, since it loads the plugin.
void in_child(const std::function<void()>& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    call();
    ::_exit(0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0)
    throw std::runtime_error("the preparation failed");
}

/// The scenario of that name. Works in the current folder, which already has "words.txt".
Scenario scenario_of(const std::string& name, const fs::path& plugin) {
  const auto pack = [plugin] { vcap::package_capsule(contents_of(plugin), "a.cap"); };
  in_child(pack);
  if (name == "pack") return {.prepare = [] { fs::remove("a.cap"); }, .run = pack};
  if (name == "load") return {.prepare = [] {}, .run = [] { load_run_close("a.cap"); }};
  if (name == "unpack")
    return {.prepare = [] { fs::remove_all("out"); },
            .run = [] { vcap::unpackage_capsule("a.cap", "out"); }};
  throw std::runtime_error("unknown scenario " + name);
}

class Sweep {
 public:
  Sweep(Scenario scenario, faults::Kind kind) : scenario_(std::move(scenario)), kind_(kind) {}

  /// How many runs ended in the destructor of nlohmann::json.
  long excused() const { return excused_; }

  /// The number of faults tried.
  long run() {
    reference_ = reported_by_child(0);
    for (long nth = 1;; ++nth)
      if (reported_by_child(nth).fired == 0) return nth - 1;
  }

 private:
  struct Report {
    Holdings holdings{};
    long fired = 0;
  };

  Report reported_by_child(long nth) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(kHangSeconds);
      std::set_terminate(std::abort);  // prints no message
      std::signal(SIGABRT, exit_where_json_ended_the_process);
      std::signal(SIGSEGV, exit_where_json_ended_the_process);
      const Report report = faulted_run(nth);
      ::_exit(::write(ends[1], &report, sizeof(report)) == sizeof(report) ? 0 : 1);
    }
    ::close(ends[1]);
    Report report;
    const bool has_reported = ::read(ends[0], &report, sizeof(report)) == sizeof(report);
    ::close(ends[0]);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) throw std::runtime_error("no child");
    if (WIFSIGNALED(status))
      throw std::runtime_error("fault " + std::to_string(nth) + " ends in " +
                               (WTERMSIG(status) == SIGALRM
                                    ? std::string("a hang")
                                    : std::string(::strsignal(WTERMSIG(status)))));
    if (WIFEXITED(status) && WEXITSTATUS(status) == kExcused) {
      ++excused_;
      return {.fired = 1};
    }
    if (status != 0 || !has_reported)
      throw std::runtime_error("fault " + std::to_string(nth) + " is not survived");
    return report;
  }

  /// Runs in the child.
  Report faulted_run(long nth) {
    char failure[500] = "";  // a std::string would count as held memory
    scenario_.prepare();
    const long files = count_of(".");
    interposer_.arm(kind_, nth);
    bool has_thrown = false;
    try {
      scenario_.run();
    } catch (const std::exception& error) {
      interposer_.disarm();
      has_thrown = true;
      std::snprintf(failure, sizeof(failure), "%s", error.what());
    } catch (...) {
      interposer_.disarm();
      refuse(nth, "throws what is no std::exception");
    }
    interposer_.disarm();
    const char* const call = interposer_.failed_call();
    if (has_thrown && call == nullptr)
      refuse(nth, std::string("fails without a fault: ") + failure);
    if (has_thrown && count_of(".") != files)
      refuse(nth, std::string("leaves a file behind: ") + failure);

    for (int round = 0; round < 2; ++round) run_soundly(nth);
    Holdings holdings = now();
    if (nth == 0) {
      run_soundly(nth);
      if (holdings != now()) refuse(nth, "leaks in every run: " + difference(holdings, now()));
    } else if (holdings != reference_.holdings && !is_leak_of_json(holdings) &&
               !lacks_allocator_of_tbb(holdings)) {
      refuse(nth, "leaks: " + difference(reference_.holdings, holdings) + "; failed: " + failure);
    }
    return {.holdings = holdings, .fired = call != nullptr ? 1 : 0};
  }

  void run_soundly(long nth) {
    try {
      scenario_.prepare();
      scenario_.run();
    } catch (const std::exception& error) {
      refuse(nth, std::string("spoils later runs: ") + error.what());
    }
  }

  Holdings now() const {
    const long allocations = interposer_.outstanding();
    return {.allocations = allocations, .descriptors = count_of("/proc/self/fd")};
  }

  /// Before 3.11.3, the constructors of nlohmann::json leak the parts that they have made if an
  /// allocation fails in the middle. This includes allocations in vcap's to_json, which they call.
  bool is_leak_of_json(const Holdings& holdings) const {
    constexpr int kVersion = NLOHMANN_JSON_VERSION_MAJOR * 10000 +
                             NLOHMANN_JSON_VERSION_MINOR * 100 + NLOHMANN_JSON_VERSION_PATCH;
    return kVersion < 31103 && holdings.descriptors == reference_.holdings.descriptors &&
           (has_failed_in_json(interposer_) || has_failed_in(interposer_, "to_json"));
  }

  /// TBB loads an allocator by name when it is first used, and does without if that fails. The
  /// process then holds fewer allocations.
  bool lacks_allocator_of_tbb(const Holdings& holdings) const {
    return holdings.allocations < reference_.holdings.allocations &&
           holdings.descriptors == reference_.holdings.descriptors &&
           has_failed_in(interposer_, "dlopen") && has_failed_in(interposer_, "_ZN3tbb6detail2r1");
  }

  static std::string difference(const Holdings& expected, const Holdings& found) {
    return std::to_string(found.allocations - expected.allocations) + " allocations, " +
           std::to_string(found.descriptors - expected.descriptors) + " descriptors";
  }

  [[noreturn]] void refuse(long nth, const std::string& fault) const {
    const char* const call = interposer_.failed_call();
    std::fprintf(stderr, "fault %ld (%s) %s\n", nth, call != nullptr ? call : "none",
                 fault.c_str());
    print_failed_stack(interposer_);
    ::_exit(1);
  }

  Scenario scenario_;
  faults::Kind kind_;
  Interposer interposer_{};
  Report reference_{};
  long excused_ = 0;
};

}  // namespace

int main(int count, char** arguments) try {
  if (count != 4) throw std::runtime_error("usage: fault_driver SCENARIO allocation|files PLUGIN");
  const std::string kind = arguments[2];
  // fork() is safe only while there is one thread.
  if (count_of("/proc/self/task") != 1) throw std::runtime_error("a library has started a thread");
  std::string folder = (fs::temp_directory_path() / "vcap-faults-XXXXXX").native();
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  fs::current_path(folder);
  std::ofstream("words.txt") << "words";
  vcap::set_log_hook([](vcap::LogLevel, std::string_view) {});

  int result = 0;
  try {
    Sweep sweep(scenario_of(arguments[1], arguments[3]),
                kind == "files" ? faults::kFileSystem : faults::kAllocation);
    const long faults = sweep.run();
    std::printf("%ld faults survived, %ld ended in nlohmann::json\n", faults - sweep.excused(),
                sweep.excused());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    result = 1;
  }
  fs::current_path("/");
  fs::remove_all(folder);
  return result;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
