// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/by_hand.hpp"
#include "models/networks.hpp"
#include "models/parts.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap::bench::models {
namespace {

namespace fs = std::filesystem;

constexpr double kMiB = 1 << 20;

/// The value of one line of /proc/self/NAME, in MiB.
double line_of(const char* name, const std::string& field) {
  std::ifstream file(std::string("/proc/self/") + name);
  for (std::string word; file >> word;)
    if (word == field + ":") {
      double kib = 0;
      file >> kib;
      return kib / 1024;
    }
  throw std::runtime_error("no " + field + " in /proc/self/" + name);
}

double after_images(PerformanceGoal goal) {
  EngineSettings settings;
  settings.goal = goal;
  const std::unique_ptr<DetectorBackend> backend = make_backend(pose(), settings);
  for (std::size_t i = 0; i < 100; ++i) backend->detect(pictures()[i % pictures().size()]);
  return line_of("status", "VmRSS");
}

double after_images_by_hand(PerformanceGoal goal) {
  ByHand hand(pose(), goal);
  for (std::size_t i = 0; i < 100; ++i) hand.run(pictures()[i % pictures().size()]);
  return line_of("status", "VmRSS");
}

/// The large model in OpenVINO's own format. It is made once; the measuring processes find it
/// again.
fs::path ir_folder() {
  const fs::path folder = large().parent_path() / "large";
  if (!fs::exists(folder / "model.bin")) {
    const test::TemporaryFolder staged;
    write_ir(large(), staged.path());
    fs::create_directories(folder);
    fs::copy(staged.path() / "model.xml", folder, fs::copy_options::overwrite_existing);
    fs::copy(staged.path() / "model.bin", folder, fs::copy_options::overwrite_existing);
  }
  return folder;
}

double weights_mib() { return static_cast<double>(fs::file_size(large())) / kMiB; }

/// A capsule with two backends and that model. It is made once; the measuring processes find it
/// again.
fs::path capsule_of(const std::map<std::string, std::string>& files) {
  fs::path path =
      large().parent_path() / fs::path(files.begin()->second).extension().string().substr(1);
  path += ".cap";
  const fs::path plugin = test::built("tests/bench/models_bench_plugin.so");
  if (!fs::exists(path) || fs::last_write_time(path) < fs::last_write_time(plugin))
    package_capsule({.libraries = {{std::string(platform()), plugin}}, .files = files}, path);
  return path;
}
fs::path onnx_capsule() { return capsule_of({{"model.onnx", large()}}); }
fs::path ir_capsule() {
  return capsule_of(
      {{"model.xml", ir_folder() / "model.xml"}, {"model.bin", ir_folder() / "model.bin"}});
}

double two_backends(const fs::path& path) {
  pictures();  // the measurement by hand has them too
  const auto capsule = load_capsule(path, {.devices = {"CPU:0", "CPU:1"}});
  return line_of("smaps_rollup", "Pss");
}

double two_by_hand(const fs::path& file) {
  pictures();  // the measurement of backends has them too
  const auto both = compile_twice(file);
  return line_of("smaps_rollup", "Pss");
}

using Kinds = std::map<std::string, double (*)(), std::less<>>;
const Kinds& kinds() {
  static const Kinds all{
      {"throughput", [] { return after_images(PerformanceGoal::throughput); }},
      {"throughput-by-hand", [] { return after_images_by_hand(PerformanceGoal::throughput); }},
      {"latency", [] { return after_images(PerformanceGoal::latency); }},
      {"latency-by-hand", [] { return after_images_by_hand(PerformanceGoal::latency); }},
      {"onnx", [] { return two_backends(onnx_capsule()); }},
      {"onnx-by-hand", [] { return two_by_hand(large()); }},
      {"ir", [] { return two_backends(ir_capsule()); }},
      {"ir-by-hand", [] { return two_by_hand(ir_folder() / "model.xml"); }},
  };
  return all;
}

double in_new_process(const std::string& kind) {
  const std::string command =
      "'" + fs::read_symlink("/proc/self/exe").native() + "' " + std::string(kMemory) + " " + kind;
  FILE* const output = popen(command.c_str(), "r");
  double mib = 0;
  const bool read = output && std::fscanf(output, "%lf", &mib) == 1;
  if (!output || pclose(output) != 0 || !read) throw std::runtime_error("cannot run " + command);
  return mib;
}

}  // namespace

double memory_mib(std::string_view kind) {
  const auto found = kinds().find(kind);
  if (found == kinds().end()) throw std::invalid_argument("no kind " + std::string(kind));
  return found->second();
}

std::vector<Figure> memory() {
  std::vector<Figure> figures;
  for (const std::string goal : {"throughput", "latency"})
    figures.push_back({.id = "models.1",
                       .what = "pose 224, goal " + goal + ", resident after 100 images, by hand's",
                       .target = 1.1,
                       .sample =
                           [=] {
                             return ratio([&] { return in_new_process(goal); },
                                          [&] { return in_new_process(goal + "-by-hand"); });
                           },
                       .samples = 3});
  for (const std::string format : {"onnx", "ir"})
    figures.push_back({.id = "models.4",
                       .what = "two backends, " + format + ", memory over the engine's, in models",
                       .target = 1,
                       .sample =
                           [=] {
                             onnx_capsule(), ir_capsule();  // made before the measurement
                             return (in_new_process(format) - in_new_process(format + "-by-hand")) /
                                    weights_mib();
                           },
                       .samples = 3});
  return figures;
}

}  // namespace vcap::bench::models
