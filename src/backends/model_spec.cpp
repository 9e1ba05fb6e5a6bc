// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/model_spec.hpp"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "backends/spec_json.hpp"
#include "model/json_view.hpp"
#include "vcap/backends/labels.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& what) {
  throw EngineError(ErrorCode::invalid_model_spec, what);
}

cv::Size read_size(const JsonView& json) {
  const auto sides = json.elements();
  if (sides.size() != 2) json.fail("a size, [width, height]");
  return {spec::whole<int>(sides[0], 1), spec::whole<int>(sides[1], 1)};
}

/// One number, or a list of them.
std::vector<double> read_numbers(const JsonView& json) {
  if (!json.value().is_array()) return {json.number()};
  std::vector<double> numbers;
  for (const JsonView& element : json.elements()) numbers.push_back(element.number());
  return numbers;
}

PictureInput read_input(const JsonView& json) {
  json.allow_fields(
      {"name", "sizes", "fit", "colors", "layout", "interpolation", "mean", "scale", "padding"});
  using Input = PictureInput;
  Input input;
  if (const auto name = json.find("name")) input.name = name->text();
  if (const auto sizes = json.find("sizes"))
    for (const JsonView& size : sizes->elements()) input.sizes.push_back(read_size(size));
  if (const auto fit = json.find("fit"))
    input.fit = spec::one_of<Input::Fit>(*fit, {{"stretch", Input::Fit::stretch},
                                                {"letterbox", Input::Fit::letterbox},
                                                {"letterbox_corner", Input::Fit::letterbox_corner},
                                                {"crop_centre", Input::Fit::crop_centre}});
  if (const auto colors = json.find("colors"))
    input.colors = spec::one_of<Input::Colors>(
        *colors,
        {{"bgr", Input::Colors::bgr}, {"rgb", Input::Colors::rgb}, {"gray", Input::Colors::gray}});
  if (const auto layout = json.find("layout"))
    input.layout = spec::one_of<Input::Layout>(*layout, {{"automatic", Input::Layout::automatic},
                                                         {"nchw", Input::Layout::nchw},
                                                         {"nhwc", Input::Layout::nhwc}});
  if (const auto how = json.find("interpolation"))
    input.interpolation =
        spec::one_of<Input::Interpolation>(*how, {{"linear", Input::Interpolation::linear},
                                                  {"area", Input::Interpolation::area},
                                                  {"nearest", Input::Interpolation::nearest},
                                                  {"cubic", Input::Interpolation::cubic}});
  if (const auto mean = json.find("mean")) input.mean = read_numbers(*mean);
  if (const auto scale = json.find("scale")) input.scale = read_numbers(*scale);
  if (const auto padding = json.find("padding")) input.padding = padding->number();
  return input;
}

void read_settings(const JsonView& json, EngineSettings& settings) {
  if (const auto goal = json.find("goal"))
    settings.goal = spec::one_of<PerformanceGoal>(
        *goal,
        {{"throughput", PerformanceGoal::throughput}, {"latency", PerformanceGoal::latency}});
  if (const auto precision = json.find("precision"))
    settings.precision = spec::one_of<Precision>(
        *precision, {{"fastest", Precision::fastest}, {"f32", Precision::f32}});
  if (const auto streams = json.find("streams"))
    settings.streams = spec::whole<std::size_t>(*streams, 0);
  if (const auto threads = json.find("threads"))
    settings.threads = spec::whole<std::size_t>(*threads, 0);
  if (const auto folder = json.find("cache_folder")) {
    settings.cache_folder.reset();
    if (!folder->text().empty()) settings.cache_folder = folder->text();
  }
  if (const auto mib = json.find("cache_mib"))
    settings.cache_bytes = spec::whole<std::uint64_t>(*mib, 1) << 20;
}

std::vector<std::string> read_labels_of(const JsonView& json, const CapsuleFiles& files) {
  if (json.value().is_array()) return json.texts();
  if (!files.contains(json.text()))
    json.complain("the capsule has no file \"" + json.text() + "\"; list it under FILES");
  return read_labels(files.text(json.text()));
}

ModelSpec read_spec(const JsonView& json, const CapsuleFiles& files) {
  json.allow_fields({"model", "weights", "engine", "goal", "precision", "streams", "threads",
                     "cache_folder", "cache_mib", "input", "constants", "labels", "output"});
  ModelSpec spec;
  spec.settings.cache_folder = spec::default_cache_folder();
  spec.model = json["model"].text();
  if (const auto weights = json.find("weights")) spec.weights = weights->text();
  if (const auto engine = json.find("engine")) spec.engine = engine->text();
  read_settings(json, spec.settings);
  if (const auto input = json.find("input")) spec.input = read_input(*input);
  if (const auto constants = json.find("constants"))
    for (const auto& [name, values] : constants->fields())
      for (const double value : read_numbers(values))
        spec.settings.constants[name].push_back(static_cast<float>(value));
  if (const auto labels = json.find("labels")) spec.labels = read_labels_of(*labels, files);
  if (const auto output = json.find("output")) {
    if (!output->value().is_object()) output->fail("an object");
    spec.output = output->value();
  }
  validate(spec.input);
  return spec;
}

std::span<const std::byte> bytes_of(const CapsuleFiles& files, const std::string& name) {
  if (!files.contains(name))
    refuse("the capsule has no file \"" + name + "\"; list it under FILES");
  return files[name];
}

/// Applies the settings of the engine that the host gives in the capsule's config.
void apply(const Json& config, ModelSpec& spec) {
  if (!config.is_object() || !config.contains("engine")) return;
  spec::with_file("config", [&] {
    const JsonView json = JsonView(config)["engine"];
    json.allow_fields(
        {"name", "precision", "goal", "streams", "threads", "cache_folder", "cache_mib"});
    if (const auto engine = json.find("name")) spec.engine = engine->text();
    read_settings(json, spec.settings);
    return 0;
  });
}

Json engine_schema() {
  const auto whole = [](int least, const char* text) {
    return Json{{"type", "integer"}, {"minimum", least}, {"description", text}};
  };
  return {{"type", "object"},
          {"description", "The engine that runs the network"},
          {"additionalProperties", false},
          {"properties",
           {{"name", {{"type", "string"}, {"description", "openvino or opencv_dnn"}}},
            {"precision",
             {{"enum", {"fastest", "f32"}},
              {"description", "The type that the device calculates with"}}},
            {"goal",
             {{"enum", {"throughput", "latency"}},
              {"description", "Most pictures a second, or the shortest wait for each"}}},
            {"streams", whole(0, "Requests that run at the same time; 0: the engine's choice")},
            {"threads", whole(0, "Cores that the network may use; 0: all")},
            {"cache_folder",
             {{"type", "string"},
              {"description", "The folder of compiled models; empty: they are not kept"}}},
            {"cache_mib", whole(1, "The bound of that folder in MiB")}}}};
}

}  // namespace

std::optional<std::filesystem::path> spec::default_cache_folder() {
  const auto variable = [](const char* name) -> std::string {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  namespace fs = std::filesystem;
  if (const std::string folder = variable("VCAP_CACHE"); !folder.empty())
    return fs::path(folder) / "models";
  if (const std::string folder = variable("XDG_CACHE_HOME"); !folder.empty())
    return fs::path(folder) / "vcap" / "models";
  if (const std::string home = variable("HOME"); !home.empty())
    return fs::path(home) / ".cache" / "vcap" / "models";
  return std::nullopt;
}

ModelSpec ModelSpec::read(const CapsuleFiles& files, std::string_view name) {
  return read(files, name, {});
}

ModelSpec ModelSpec::read(const CapsuleFiles& files, std::string_view name, const Json& config) {
  const std::string file(name);
  if (!files.contains(file))
    refuse("the capsule has no file \"" + file + "\"; list it under FILES");
  const Json json = Json::parse(files.text(file), nullptr, false);
  if (json.is_discarded()) refuse(file + " is not JSON; check its commas and quotes");
  ModelSpec spec = spec::with_file(file, [&] { return read_spec(JsonView(json), files); });
  apply(config, spec);
  return spec;
}

Json ModelSpec::config_schema() {
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties", {{"engine", engine_schema()}}}};
}

std::shared_ptr<ModelRunner> load_model(const CapsuleFiles& files, ModelSpec spec,
                                        const std::string& device) {
  ModelFile model{.name = spec.model, .bytes = bytes_of(files, spec.model)};
  if (!spec.weights.empty()) model.weights = bytes_of(files, spec.weights);
  spec.settings.device = device;
  return std::make_shared<ModelRunner>(find_engine(spec.engine), std::move(model),
                                       std::move(spec.input), std::move(spec.settings));
}

}  // namespace vcap
