// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/engine.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <future>
#include <map>
#include <regex>
#include <set>
#include <system_error>

#include "base/thread_annotations.hpp"
#include "files/own_library.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "engine_";

std::string remedy_for(std::string_view name) {
  if (name == "openvino")
    return "; this vcap was built or installed without OpenVINO: run cmake/fetch_wheel.sh openvino "
           "and build vcap again, or name the engine opencv_dnn";
  return "; install its library beside libvcap_backends, or name another engine";
}

[[noreturn]] void missing(std::string_view name, const std::string& why) {
  std::string names;
  for (const std::string& other : installed_engines()) names += (names.empty() ? "" : ", ") + other;
  throw EngineError(ErrorCode::engine_missing,
                    "engine \"" + std::string(name) + "\" cannot be loaded (" + why +
                        "); installed: " + (names.empty() ? "none" : names) + remedy_for(name));
}

std::string last_linker_error() {
  const char* const error = ::dlerror();
  return error != nullptr ? error : "unknown reason";
}

/// Why engines are libraries that are loaded: docs/adr/0007-engines-as-libraries-loaded-by-name.md.
std::shared_ptr<Engine> load(std::string_view name) {
  // The name is used in a path.
  if (!std::regex_match(name.begin(), name.end(), std::regex("[a-z0-9_]+")))
    missing(name, "use only lower-case letters, digits and _");
  const std::string file = own_library(std::string(kPrefix) + std::string(name));
  const fs::path beside = own_folder() / file;
  std::error_code ignored;
  const std::string path = fs::exists(beside, ignored) ? beside.string() : file;
  // Never unloaded, like all native code.
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) missing(name, last_linker_error());
  using Make = void (*)(std::shared_ptr<Engine>&);
  const auto make = reinterpret_cast<Make>(::dlsym(handle, "vcap_make_engine_1"));
  if (make == nullptr) missing(name, path + " has no vcap_make_engine_1");
  std::shared_ptr<Engine> engine;
  make(engine);
  return engine;
}

}  // namespace

InferenceRequest::~InferenceRequest() = default;

void InferenceRequest::run() {
  std::promise<void> done;
  start([&done](std::exception_ptr error) {
    if (error)
      done.set_exception(std::move(error));
    else
      done.set_value();
  });
  done.get_future().get();
}

CompiledModel::~CompiledModel() = default;
std::size_t CompiledModel::parallel_requests() const { return optimal_requests(); }
bool CompiledModel::runs_on_host() const { return false; }

Engine::~Engine() = default;

std::shared_ptr<Engine> find_engine(std::string_view name) {
  // All capsules share one engine of a name, and its threads, as long as one of them uses it.
  static Mutex mutex;
  static std::map<std::string, std::weak_ptr<Engine>, std::less<>>& engines VCAP_GUARDED_BY(mutex) =
      *new std::map<std::string, std::weak_ptr<Engine>, std::less<>>;
  const MutexLock lock(mutex);
  if (const auto known = engines.find(name); known != engines.end())
    if (std::shared_ptr<Engine> engine = known->second.lock()) return engine;
  std::shared_ptr<Engine> engine = load(name);
  engines.insert_or_assign(std::string(name), engine);
  return engine;
}

std::vector<std::string> installed_engines() {
  // The text before and after the name.
  const std::string file_of_x = own_library(std::string(kPrefix) + "X");
  const std::size_t x = file_of_x.find('X');
  const std::string_view before = std::string_view(file_of_x).substr(0, x);
  const std::string_view after = std::string_view(file_of_x).substr(x + 1);
  std::set<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(own_folder(), ignored)) {
    const std::string file = entry.path().filename().string();
    if (file.size() > before.size() + after.size() && file.starts_with(before) &&
        file.ends_with(after))
      names.insert(file.substr(before.size(), file.size() - before.size() - after.size()));
  }
  return {names.begin(), names.end()};
}

}  // namespace vcap
