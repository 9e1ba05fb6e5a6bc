// SPDX-License-Identifier: Apache-2.0
// Runs networks with OpenVINO (Apache-2.0). All models of the process share one ov::Core.
#include "backends/openvino/openvino_engine.hpp"

#include <algorithm>

#include <openvino/openvino.hpp>

#include "backends/openvino/model_cache.hpp"
#include "backends/openvino/openvino_model.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Increase it if the same model is now compiled into something else. Models that older versions
/// kept are then not used.
constexpr const char* kRevision = "2";

/// The kind of a device: "GPU" for "GPU.0", "MULTI" for "MULTI:GPU.0,CPU".
std::string kind_of(const std::string& device) {
  return device.substr(0, device.find_first_of(".:"));
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

/// The devices in a name: GPU.0 and CPU for "MULTI:GPU.0(4),CPU"; an empty list for "AUTO".
std::vector<std::string> parts_of(const std::string& device) {
  const std::string kind = kind_of(device);
  if (kind != "AUTO" && kind != "MULTI" && kind != "HETERO" && kind != "BATCH") return {device};
  std::vector<std::string> parts;
  for (std::size_t at = device.find(':'); at != std::string::npos; at = device.find(',', at + 1)) {
    std::string part = device.substr(at + 1, device.find(',', at + 1) - at - 1);
    if (part.starts_with('-')) part.erase(0, 1);  // AUTO:-GPU means all but GPU
    parts.push_back(part.substr(0, part.find('(')));
  }
  return parts;
}

/// OpenVINO's name of a device that vcap calls CPU:0 or GPU:1.
std::string engine_device(const std::string& device) {
  const std::size_t colon = device.find(':');
  if (colon == std::string::npos) return device;
  const std::string number = device.substr(colon + 1);
  if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return device;
  const std::string kind = device.substr(0, colon);
  return kind == "GPU" ? kind + "." + number : kind;
}

/// Asks only the plugin of that kind. A list of all devices would load all plugins. That costs 25
/// MB and, with video hardware, loads its drivers.
bool has_device(const ov::Core& core, const std::string& device) {
  const std::string kind = kind_of(device);
  std::vector<std::string> ids;
  try {
    ids = core.get_property(kind, ov::available_devices);
  } catch (const std::exception&) {  // no plugin of that name, or it cannot be loaded here
    return false;
  }
  if (device == kind) return !ids.empty();
  return std::ranges::find(ids, device.substr(kind.size() + 1)) != ids.end();
}

ov::AnyMap properties(const EngineSettings& settings, const std::string& device) {
  const bool latency = settings.goal == PerformanceGoal::latency;
  ov::AnyMap map{ov::hint::performance_mode(latency ? ov::hint::PerformanceMode::LATENCY
                                                    : ov::hint::PerformanceMode::THROUGHPUT)};
  const auto set = [&](auto property) { map.insert(property); };
  if (settings.precision == Precision::f32) set(ov::hint::inference_precision(ov::element::f32));
  // Only for the CPU: devices that spread a model over several others have properties of their own.
  if (kind_of(device) != "CPU") return map;
  if (settings.streams > 0) set(ov::num_streams(static_cast<std::int32_t>(settings.streams)));
  if (settings.threads > 0)
    set(ov::inference_num_threads(static_cast<std::int32_t>(settings.threads)));
  // Several models pinned to the same cores would wait for each other while other cores are idle.
  set(ov::hint::enable_cpu_pinning(false));
  return map;
}

/// The devices' full names and capabilities, as far as the devices report them.
std::string described(const ov::Core& core, const std::vector<std::string>& devices) {
  std::string text;
  for (const std::string& device : devices) try {
      text += core.get_property(device, ov::device::full_name) + ": ";
      text += joined(core.get_property(device, ov::device::capabilities)) + "; ";
    } catch (const ov::Exception&) {
      text += device + "; ";
    }
  return text;
}

}  // namespace

class OpenVinoEngine::Impl {
 public:
  ov::Core core;
};

OpenVinoEngine::OpenVinoEngine() : impl_(std::make_unique<Impl>()) {}
OpenVinoEngine::~OpenVinoEngine() = default;

std::string OpenVinoEngine::version() const { return ov::get_openvino_version().buildNumber; }

std::vector<std::string> OpenVinoEngine::devices() const {
  return impl_->core.get_available_devices();
}

std::unique_ptr<CompiledModel> OpenVinoEngine::compile(const ModelFile& model,
                                                       const PictureInput& input,
                                                       std::optional<cv::Size> size,
                                                       const EngineSettings& settings) {
  const std::string device = engine_device(settings.device);
  const std::vector<std::string> parts = parts_of(device);
  for (const std::string& part : parts)
    if (!has_device(impl_->core, part))
      throw DeviceError(ErrorCode::unknown_device,
                        "model " + model.name + ": OpenVINO has no device \"" + part +
                            "\"; it found " + joined(devices()) + "; choose one of them, or AUTO");
  const ov::AnyMap map = properties(settings, device);
  std::optional<ModelCache> cache;
  std::string key;
  if (settings.cache_folder) {
    cache.emplace(*settings.cache_folder, settings.cache_bytes);
    // Another machine may share the folder, and a compiled model depends on the processor.
    key = ModelCache::key_of(model, input, size, settings,
                             kRevision + std::string(" openvino ") + version() + " " + device +
                                 " " + described(impl_->core, parts.empty() ? devices() : parts));
    if (std::optional<std::string> blob = cache->find(key)) {
      try {
        return import_openvino_model(impl_->core, std::move(*blob), model, settings, device, map);
      } catch (const std::exception& error) {
        cache->refuse(key, error.what());
      }
    }
  }
  auto compiled = compile_openvino_model(impl_->core, model, input, size, settings, device, map);
  if (cache) cache->keep(key, [&] { return compiled->exported(); });
  return compiled;
}

}  // namespace vcap

VCAP_ENGINE(vcap::OpenVinoEngine)
