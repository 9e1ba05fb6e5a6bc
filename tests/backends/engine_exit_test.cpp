// SPDX-License-Identifier: Apache-2.0
// Programs that end while models still exist must not crash.
#include <cstdlib>

#include "backends/engine_conformance.hpp"
#include "support/sanitizers.hpp"
#include "vcap/backends/model_runner.hpp"

namespace vcap::test {
namespace {

class EngineExit : public EngineConformance {};

/// Objects of the program that are destroyed after those of the libraries that the engine loads.
struct Kept {
  std::optional<TestModel> model{};
  std::shared_ptr<Engine> engine{};
  std::unique_ptr<CompiledModel> compiled{};
  std::unique_ptr<InferenceRequest> request{};
  std::unique_ptr<ModelRunner> runner{};
};

#if VCAP_TEST_ADDRESS_SANITIZER
/// Ends the process before the search for leaks, which fails while threads of engines run.
struct Last {
  ~Last() { std::_Exit(0); }
};
#endif

[[noreturn]] void use_and_exit(const std::string& engine, const EngineSettings& settings) {
#if VCAP_TEST_ADDRESS_SANITIZER
  static Last last;
#endif
  static Kept kept;  // registered for destruction before the engine's own
  kept.model.emplace("plus_one.onnx");
  kept.engine = find_engine(engine);
  kept.compiled = kept.engine->compile(kept.model->file(), {}, kPicture, settings);
  kept.request = kept.compiled->make_request();
  run_picture(*kept.request, noise(kPicture, 1));
  PictureInput input;
  input.sizes = {kPicture};
  kept.runner = std::make_unique<ModelRunner>(kept.engine, kept.model->file(), input, settings);
  const std::vector<cv::Mat> pictures(8, noise(kPicture, 2));
  kept.runner->run(pictures, [](std::size_t, const ModelOutputs&) {});
  std::exit(0);
}

TEST_P(EngineExit, WorksWhileStaticObjectsHoldModels) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, in which no engine is loaded
  EXPECT_EXIT(use_and_exit(GetParam(), settings), testing::ExitedWithCode(0), "");
}

VCAP_INSTANTIATE_FOR_ENGINES(EngineExit);

}  // namespace
}  // namespace vcap::test
