// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/backends/engine.hpp"
#include "vcap/backends/model_runner.hpp"
#include "vcap/backends/picture_input.hpp"
#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/capsule/capsule_files.hpp"

namespace vcap {

/// A capsule's description of its network: its file, the engine, how pictures become its input, and
/// how its outputs are read. Usually a JSON file of the capsule (docs/backends.md has every field):
///
///     {"model": "yolov8n.onnx", "labels": "coco.txt",
///      "input": {"sizes": [[640, 640]], "fit": "letterbox", "scale": 255, "padding": 114},
///      "output": {"reader": "yolo_v8"}}
///
/// Thread safety: value.
struct VCAP_EXPORT ModelSpec {
  std::string model{};    ///< the name of a file of the capsule
  std::string weights{};  ///< the same, for formats that keep weights in a file of their own
  std::string engine = "openvino";
  PictureInput input{};
  EngineSettings settings{};
  std::vector<std::string> labels{};       ///< names of the classes, by index
  JsonValue output = JsonValue::object();  ///< for the reader of the outputs

  /// Reads the capsule's JSON file of that name, and the file of labels that it names. The object
  /// "engine" of `config`, if there is one, takes precedence: it has what the host asks for
  /// (BaseCapsule's config(), which config_schema() describes). Throws EngineError
  /// (invalid_model_spec) that names the file, the field by its JSON pointer, its value and what is
  /// allowed.
  static ModelSpec read(const CapsuleFiles& files, std::string_view name,
                        const nlohmann::json& config);
  static ModelSpec read(const CapsuleFiles& files, std::string_view name);

  /// A schema for CapsuleInfo::config_schema: an object whose only property is "engine", with
  /// "name", "precision", "goal", "streams", "threads", "cache_folder" and "cache_mib". A capsule
  /// that takes more adds it under "properties".
  static nlohmann::json config_schema();
};

/// Compiles the model that `spec` describes, on a device that the capsule's mapper returned. The
/// files must outlive the result. Throws EngineError and DeviceError as ModelRunner, and
/// EngineError (invalid_model_spec) for a file that the capsule does not have.
VCAP_EXPORT std::shared_ptr<ModelRunner> load_model(const CapsuleFiles& files, ModelSpec spec,
                                                    const std::string& device);

}  // namespace vcap
