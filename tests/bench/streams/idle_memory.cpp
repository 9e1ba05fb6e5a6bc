// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "streams/parts.hpp"
#include "support/program_capsule.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::bench::streams {
namespace {

constexpr int kIdle = 1024;

double resident_kib() {
  long size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

/// A camera that is connected and sends nothing.
class Silent final : public Source {
 public:
  Silent(std::latch& arrived, std::latch& over) : arrived_(arrived), over_(over) {}
  SourceInfo info() const override { return {.description = "silence", .live = true}; }
  std::optional<Frame> read() override {
    arrived_.count_down();
    over_.wait();
    return {};
  }

 private:
  std::latch& arrived_;
  std::latch& over_;
};

double of_streams() {
  std::latch arrived(kIdle), over(1);
  Pipeline pipeline(
      {test::program_capsule(test::finder_info("empty", "thing"),
                             [](const Frame&, DetectionNodes, const OptionValues&,
                                BaseStreamState&) { return DetectionNodes::all(); })});
  const double before = resident_kib();
  for (int i = 0; i < kIdle; ++i)
    pipeline.open_stream(
        {.id = std::to_string(i), .source = std::make_unique<Silent>(arrived, over)});
  arrived.wait();
  const double used = resident_kib() - before;
  over.count_down();
  return used / kIdle;
}

/// The least memory of any program with a thread for each stream.
double of_threads() {
  std::latch arrived(kIdle), over(1);
  const double before = resident_kib();
  std::vector<std::jthread> threads;
  for (int i = 0; i < kIdle; ++i)
    threads.emplace_back([&] {
      arrived.count_down();
      over.wait();
    });
  arrived.wait();
  const double used = resident_kib() - before;
  over.count_down();
  return used / kIdle;
}

double in_new_process(const std::string& kind) {
  const std::string command = "'" + std::filesystem::read_symlink("/proc/self/exe").native() +
                              "' " + std::string(kIdleMemory) + " " + kind;
  FILE* output = popen(command.c_str(), "r");
  double kib = 0;
  const bool read = output && std::fscanf(output, "%lf", &kib) == 1;
  if (!output || pclose(output) != 0 || !read) throw std::runtime_error("cannot run " + command);
  return kib;
}

}  // namespace

double idle_memory_kib(std::string_view kind) {
  return kind == "streams" ? of_streams() : of_threads();
}

std::vector<Figure> idle_memory() {
  return {{.id = "streams.2",
           .what = "resident memory of each of 1024 streams that wait, KiB",
           .target = 64,
           .sample = [] { return in_new_process("streams"); },
           .samples = 3},
          {.id = "streams.2",
           .what = "floor: of each of 1024 bare threads that wait, KiB",
           .target = 64,
           .sample = [] { return in_new_process("threads"); },
           .samples = 3}};
}

}  // namespace vcap::bench::streams
