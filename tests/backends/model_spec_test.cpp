// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/model_spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

/// A capsule's files; owns their contents.
class Files {
 public:
  explicit Files(std::map<std::string, std::string> texts)
      : texts_(std::make_shared<std::map<std::string, std::string>>(std::move(texts))) {}
  operator CapsuleFiles() const {
    std::map<std::string, CapsuleFiles::Bytes, std::less<>> views;
    for (const auto& [name, text] : *texts_) views.emplace(name, std::as_bytes(std::span(text)));
    return {std::move(views), texts_};
  }

 private:
  std::shared_ptr<std::map<std::string, std::string>> texts_;
};

ModelSpec read(const json& model, const json& config = {}) {
  return ModelSpec::read(Files({{"model.json", model.dump()}, {"coco.txt", "person\ncar\n"}}),
                         "model.json", config);
}

TEST(ModelSpec, ReadsTheCapsulesDescriptionOfItsNetwork) {
  const ModelSpec spec = read({{"model", "yolo.onnx"},
                               {"labels", "coco.txt"},
                               {"streams", 2},
                               {"input", {{"sizes", {{64, 48}}}, {"fit", "letterbox"}}},
                               {"output", {{"reader", "yolo_v8"}}}});
  EXPECT_EQ(spec.model, "yolo.onnx");
  EXPECT_EQ(spec.engine, "openvino");
  EXPECT_EQ(spec.settings.streams, 2u);
  EXPECT_THAT(spec.labels, testing::ElementsAre("person", "car"));
  EXPECT_EQ(spec.input.sizes, std::vector<cv::Size>{cv::Size(64, 48)});
  EXPECT_EQ(spec.input.fit, PictureInput::Fit::letterbox);
  EXPECT_EQ(spec.output, json({{"reader", "yolo_v8"}}));
}

TEST(ModelSpec, PrefersTheSettingsOfTheHost) {
  const json model{{"model", "m.onnx"}, {"streams", 2}, {"threads", 3}, {"goal", "latency"}};
  const ModelSpec spec = read(model, {{"engine",
                                       {{"name", "opencv_dnn"},
                                        {"precision", "f32"},
                                        {"goal", "throughput"},
                                        {"streams", 4},
                                        {"cache_folder", ""},
                                        {"cache_mib", 5}}},
                                      {"more", true}});
  EXPECT_EQ(spec.engine, "opencv_dnn");
  EXPECT_EQ(spec.settings.precision, Precision::f32);
  EXPECT_EQ(spec.settings.goal, PerformanceGoal::throughput);
  EXPECT_EQ(spec.settings.streams, 4u);
  EXPECT_EQ(spec.settings.threads, 3u) << "the capsule's setting";
  EXPECT_EQ(spec.settings.cache_folder, std::nullopt);
  EXPECT_EQ(spec.settings.cache_bytes, std::uint64_t{5} << 20);
}

TEST(ModelSpec, KeepsTheCapsulesSettingsIfTheHostGivesNone) {
  for (const json& config : {json(), json::object(), json{{"engine", json::object()}}})
    EXPECT_EQ(read({{"model", "m.onnx"}, {"streams", 2}}, config).settings.streams, 2u);
}

TEST(ModelSpec, NamesFileFieldAndRemedyOfAnError) {
  const auto refuses = [](const json& model, const json& config, const auto& message) {
    EXPECT_THAT([&] { read(model, config); },
                ThrowsError<EngineError>(ErrorCode::invalid_model_spec, message));
  };
  const json good{{"model", "m.onnx"}};
  refuses({{"model", 3}}, {}, AllOf(HasSubstr("model.json: /model"), HasSubstr("3")));
  refuses({{"model", "m.onnx"}, {"input", {{"fit", "squeeze"}}}}, {},
          AllOf(HasSubstr("model.json: /input/fit"), HasSubstr("squeeze"), HasSubstr("letterbox")));
  refuses({{"model", "m.onnx"}, {"labels", "names.txt"}}, {},
          AllOf(HasSubstr("names.txt"), HasSubstr("FILES")));
  refuses(
      good, {{"engine", {{"precision", "f16"}}}},
      AllOf(HasSubstr("config: /engine/precision"), HasSubstr("f16"), HasSubstr("fastest, f32")));
  refuses(good, {{"engine", {{"precison", "f32"}}}}, HasSubstr("precison"));
  EXPECT_THAT([] { ModelSpec::read(CapsuleFiles(), "model.json"); },
              ThrowsError<EngineError>(ErrorCode::invalid_model_spec,
                                       AllOf(HasSubstr("model.json"), HasSubstr("FILES"))));
}

TEST(ModelSpec, AcceptsExactlyThePropertiesOfItsConfigSchema) {
  const json schema = ModelSpec::config_schema();
  EXPECT_EQ(schema.at("type"), "object");
  EXPECT_EQ(schema.at("additionalProperties"), false);
  EXPECT_EQ(schema.at("properties").size(), 1u);
  const json& engine = schema.at("properties").at("engine");
  EXPECT_EQ(engine.at("additionalProperties"), false);
  EXPECT_EQ(engine.at("properties").size(), 7u);
  for (const auto& [name, property] : engine.at("properties").items()) {
    const json value = property.contains("enum")          ? property.at("enum").front()
                       : property.at("type") == "integer" ? json(1)
                                                          : json("text");
    EXPECT_NO_THROW(read({{"model", "m.onnx"}}, {{"engine", {{name, value}}}})) << name;
  }
}

}  // namespace
}  // namespace vcap::test
