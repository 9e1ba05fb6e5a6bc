// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/backends/picture_input.hpp"
#include "vcap/backends/tensor_view.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// A model in memory, usually as views into the mapped capsule. This memory must outlive every
/// model that is compiled from it. Thread safety: value.
struct ModelFile {
  std::string name{};  ///< of the file; its ending gives the format: .xml, .onnx, .tflite, …
  std::span<const std::byte> bytes{};
  /// The weights, for formats that keep them in a file of their own (.bin).
  std::span<const std::byte> weights{};
};

/// What matters more: many pictures a second, or a short wait for each picture.
enum class PerformanceGoal {
  throughput,  ///< many requests at once, each on few cores: the most pictures a second
  latency      ///< one request at a time, on all cores
};

/// The element type that the device calculates with.
enum class Precision {
  fastest,  ///< the device's fastest type, such as bf16; results differ in the third digit
  f32       ///< for tests that compare numbers, and for networks that need it
};

/// How a model is compiled. The defaults are meant for a server that runs many streams.
/// Thread safety: value.
struct EngineSettings {
  /// In the engine's names: CPU, GPU.0, AUTO, MULTI:GPU.0,CPU. vcap's names CPU:0 and GPU:0 are
  /// accepted too.
  std::string device = "CPU";
  PerformanceGoal goal = PerformanceGoal::throughput;
  Precision precision = Precision::fastest;
  /// Requests that the device runs at the same time; 0: the engine's choice.
  std::size_t streams = 0;
  std::size_t threads = 0;  ///< cores that the model may use; 0: all that the process may run on
  /// The folder that keeps compiled models for the next start; absent: they are not kept.
  std::optional<std::string> cache_folder{};
  /// The largest size of that folder in bytes. Beyond it, the least recently used models are
  /// deleted.
  std::uint64_t cache_bytes = std::uint64_t{1} << 30;
  /// Other inputs of the model, by name. Their values are the same for every picture.
  std::map<std::string, std::vector<float>> constants{};
};

/// One inference at a time: its input, its run, its outputs. Made by a CompiledModel, which must
/// outlive it. Thread safety: thread-compatible. A thread of the engine calls `done`, or the thread
/// that calls start().
class VCAP_EXPORT InferenceRequest {
 public:
  using Done = std::function<void(std::exception_ptr)>;

  InferenceRequest() = default;
  InferenceRequest(const InferenceRequest&) = delete;
  InferenceRequest& operator=(const InferenceRequest&) = delete;
  virtual ~InferenceRequest();

  /// The engine's own memory for the picture: 8-bit BGR, of the model's size. Write it before
  /// start.
  virtual cv::Mat input() = 0;
  /// Uses the pixels of a BGR picture of exactly the model's size in place, without a copy. The
  /// picture must not change until the request is done. Gives false if that is not possible for
  /// this picture; then nothing has changed.
  virtual bool share_input(const cv::Mat& picture) = 0;
  /// Starts the inference. `done` is called exactly once, with the error or null, and not under a
  /// lock. The request must live until then. Throws EngineError (inference_failed) if it cannot
  /// start.
  virtual void start(Done done) = 0;
  /// Runs in the calling thread and returns when the request is done. Throws the error that `done`
  /// would get. The default starts the request and waits. An engine that runs it in the calling
  /// thread saves waking another thread.
  virtual void run();
  /// Valid after the request is done, until the next start() or run().
  virtual std::span<const TensorView> outputs() = 0;
};

/// A model on a device, for one input size. Thread safety: thread-safe.
class VCAP_EXPORT CompiledModel {
 public:
  CompiledModel() = default;
  CompiledModel(const CompiledModel&) = delete;
  CompiledModel& operator=(const CompiledModel&) = delete;
  virtual ~CompiledModel();

  virtual cv::Size input_size() const = 0;
  /// How many requests a ModelRunner should make: those that keep the device busy, and more that
  /// are prepared or read in the meantime; at least 1.
  virtual std::size_t optimal_requests() const = 0;
  /// How many of them the device runs at the same time; at least 1. The default:
  /// optimal_requests().
  virtual std::size_t parallel_requests() const;
  /// Whether it runs on the processor cores that also prepare pictures. Then parallel_requests()
  /// threads keep them busy; for other devices, more threads prepare the next pictures meanwhile.
  /// The default: false.
  virtual bool runs_on_host() const;
  /// Throws EngineError (inference_failed).
  virtual std::unique_ptr<InferenceRequest> make_request() = 0;
};

/// A library that runs networks. Implemented by engine libraries (`libvcap_engine_NAME.so`), or by
/// code that brings its own engine; used by ModelRunner. Thread safety: thread-safe.
class VCAP_EXPORT Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine();

  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  /// The devices that the engine finds, in the engine's names.
  virtual std::vector<std::string> devices() const = 0;
  /// Compiles the model for pictures of `size`; `nullopt`: the model's own size. Throws
  /// EngineError: unreadable_model; unsupported_model (an operation that the device lacks, or an
  /// input that is not a picture); model_input (a size that does not fit). Throws DeviceError
  /// (unknown_device) that lists the devices. Messages name the model, the input and what to do.
  virtual std::unique_ptr<CompiledModel> compile(const ModelFile& model, const PictureInput& input,
                                                 std::optional<cv::Size> size,
                                                 const EngineSettings& settings) = 0;
};

/// The engine of that name: "openvino", "opencv_dnn", or another whose library is installed beside
/// vcap's or in the linker's path. The first call loads the library. Throws EngineError
/// (engine_missing) that says how to get it. Thread-safe.
VCAP_EXPORT std::shared_ptr<Engine> find_engine(std::string_view name);

/// The names of the engines that are installed. Thread-safe.
VCAP_EXPORT std::vector<std::string> installed_engines();

}  // namespace vcap

/// Defines the `extern "C"` function of an engine's library, which gives a new engine to the
/// caller.
#define VCAP_ENGINE(EngineType)                                                       \
  extern "C" VCAP_EXPORT void vcap_make_engine_1(std::shared_ptr<vcap::Engine>& out); \
  void vcap_make_engine_1(std::shared_ptr<vcap::Engine>& out) {                       \
    out = std::make_shared<EngineType>();                                             \
  }
