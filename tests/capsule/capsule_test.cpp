// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/capsule.hpp"

#include <algorithm>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"
#include "support/bounded_wait.hpp"
#include "support/call_elsewhere.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using test::author_of;
using test::detector_info;
using test::error_of;
using test::FakeBackend;
using test::frame_at;
using test::make_capsule;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Size = NodeDescription::Size;

/// The events of the backends, in order.
class Journal {
 public:
  void note(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

std::unique_ptr<FakeBackend> journaling(Journal& journal, const std::string& device) {
  auto backend = std::make_unique<FakeBackend>();
  backend->on_drain = [&journal, device] { journal.note("drain " + device); };
  backend->on_close = [&journal, device] { journal.note("close " + device); };
  return backend;
}

FakeBackend::Process gives_nothing() {
  return [](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
    return DetectionNodes::all();
  };
}

std::vector<std::string> gpus(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("GPU:" + std::to_string(i));
  return names;
}

// Loading

TEST(Capsule, LoadsOneBackendForEachDeviceThatTheMapperChooses) {
  const auto capsule = make_capsule(detector_info(), gives_nothing(), {"CPU:0", "GPU:0", "GPU:1"});

  EXPECT_THAT(capsule->devices(), ElementsAre("GPU:0", "GPU:1"));
}

TEST(Capsule, LoadsItsBackendsAtOnce) {
  constexpr int kDevices = 3;
  test::Meeting all_are_loading(kDevices);

  const Capsule capsule =
      test::capsule_of(detector_info(), author_of([&](const CapsuleFiles&, const std::string&) {
                         all_are_loading.arrive_and_wait("the other backends");
                         return std::make_unique<FakeBackend>();
                       }),
                       {.devices = gpus(kDevices)});

  EXPECT_EQ(capsule.devices().size(), 3u);
}

TEST(Capsule, PassesFilesAndConfigToTheAuthor) {
  class Author final : public BaseCapsule {
   public:
    explicit Author(std::string& seen) : seen_(seen) {}
    std::unique_ptr<Backend> load_backend(const CapsuleFiles& files,
                                          const std::string& device) override {
      seen_ = files.text("a.txt");
      seen_ += " " + config().at("key").get<std::string>() + " " + device;
      return std::make_unique<FakeBackend>();
    }

   private:
    std::string& seen_;
  };
  const std::string text = "content";
  std::string seen;

  const Capsule capsule =
      test::capsule_of(detector_info(), std::make_unique<Author>(seen),
                       {.files = CapsuleFiles({{"a.txt", std::as_bytes(std::span(text))}}, nullptr),
                        .config = {{"key", "value"}},
                        .devices = {"CPU:0"}});

  EXPECT_EQ(seen, "content value CPU:0");
}

TEST(Capsule, FindsDevicesItselfWhenItIsGivenNone) {
  const auto capsule = make_capsule(
      [] {
        CapsuleInfo info = detector_info();
        info.device_mapper = DeviceMapper::map_to_single_cpu();
        return info;
      }(),
      gives_nothing(), {});

  EXPECT_THAT(capsule->devices(), ElementsAre("CPU:0"));
}

TEST(Capsule, NamesTheDeviceAndTheReasonWhenABackendFailsToLoad) {
  const auto error = error_of<CapsuleLoadError>([] {
    test::capsule_of(
        detector_info(),
        author_of([](const CapsuleFiles&, const std::string&) -> std::unique_ptr<Backend> {
          throw std::runtime_error("model.onnx has no output \"boxes\"");
        }),
        {.devices = {"GPU:0"}});
  });

  EXPECT_EQ(error.code(), ErrorCode::backend_load_failed);
  EXPECT_STREQ(
      error.what(),
      "capsule detector_fake could not load its backend on GPU:0: model.onnx has no output "
      "\"boxes\"");
}

TEST(Capsule, ClosesLoadedBackendsWhenAnotherFails) {
  Journal journal;

  const auto error = error_of<CapsuleLoadError>([&] {
    test::capsule_of(
        detector_info(),
        author_of([&](const CapsuleFiles&, const std::string& device) -> std::unique_ptr<Backend> {
          if (device == "GPU:1") throw std::runtime_error("out of memory");
          return journaling(journal, device);
        }),
        {.devices = gpus(3)});
  });

  EXPECT_THAT(error.what(), HasSubstr("on GPU:1: out of memory"));
  EXPECT_THAT(journal.lines(),
              ElementsAre("drain GPU:0", "drain GPU:2", "close GPU:0", "close GPU:2"));
}

TEST(Capsule, TreatsANullBackendAsAFailure) {
  const auto error = error_of<CapsuleLoadError>([] {
    test::capsule_of(
        detector_info(),
        author_of([](const CapsuleFiles&, const std::string&) -> std::unique_ptr<Backend> {
          return nullptr;
        }),
        {.devices = {"GPU:0"}});
  });

  EXPECT_EQ(error.code(), ErrorCode::backend_load_failed);
  EXPECT_THAT(error.what(), HasSubstr("GPU:0: load_backend returned null"));
}

TEST(Capsule, SurvivesABackendThatThrowsANonException) {
  const auto error = error_of<CapsuleLoadError>([] {
    test::capsule_of(detector_info(),
                     author_of([](const CapsuleFiles&,
                                  const std::string&) -> std::unique_ptr<Backend> { throw 7; }),
                     {.devices = gpus(2)});
  });

  EXPECT_THAT(error.what(), HasSubstr("GPU:0: an exception that is not a std::exception; GPU:1: "));
}

TEST(Capsule, NamesItselfWhenItsMapperChoosesNothing) {
  CapsuleInfo info = detector_info();
  info.device_mapper = DeviceMapper::map_to_all_gpus(false);

  const auto error = error_of<DeviceError>([&] { make_capsule(info, gives_nothing()); });

  EXPECT_EQ(error.code(), ErrorCode::no_device);
  EXPECT_THAT(error.what(), HasSubstr("capsule detector_fake: device mapper map_to_all_gpus"));
}

TEST(Capsule, NamesItsMapperWhenTheMapperThrows) {
  CapsuleInfo info = detector_info();
  info.device_mapper = DeviceMapper(
      "own", [](const auto&) -> std::vector<std::string> { throw std::runtime_error("no idea"); });

  const auto error = error_of<CapsuleLoadError>([&] { make_capsule(info, gives_nothing()); });

  EXPECT_EQ(error.code(), ErrorCode::capsule_threw);
  EXPECT_STREQ(error.what(), "capsule detector_fake: device mapper own failed: no idea");
}

TEST(Capsule, RefusesInvalidDeviceNames) {
  const auto error =
      error_of<DeviceError>([] { make_capsule(detector_info(), gives_nothing(), {"cuda"}); });

  EXPECT_THAT(error.what(), HasSubstr("devices given to capsule detector_fake: \"cuda\""));
}

TEST(Capsule, RefusesAnInvalidDescription) {
  CapsuleInfo info = detector_info();
  info.version = 0;

  EXPECT_THROW(make_capsule(info, gives_nothing()), InvalidCapsuleError);
}

TEST(Capsule, RefusesAConfigThatIsNoObject) {
  const auto error = error_of<InvalidArgument>([] {
    test::capsule_of(detector_info(), author_of([](const auto&, const auto&) {
                       return std::make_unique<FakeBackend>();
                     }),
                     {.config = nlohmann::json::array()});
  });

  EXPECT_THAT(error.what(), HasSubstr("config of capsule detector_fake is of JSON type array"));
}

TEST(Capsule, RefusesAConfigThatDoesNotFitItsSchema) {
  CapsuleInfo info = detector_info();
  info.config_schema = {{"properties", {{"key", {{"type", "string"}}}}}};

  const auto error = error_of<InvalidArgument>([&] {
    test::capsule_of(
        info, author_of([](const auto&, const auto&) { return std::make_unique<FakeBackend>(); }),
        {.config = {{"key", 7}}});
  });

  EXPECT_EQ(error.code(), ErrorCode::invalid_config);
  EXPECT_THAT(error.what(), HasSubstr("/key is 7, but a string is needed"));
}

TEST(Capsule, NeedsAnAuthor) {
  EXPECT_THROW(Capsule(detector_info(), nullptr, {}), InvalidArgument);
}

TEST(Capsule, DescribesItselfWithoutBackendsOutsideInferenceMode) {
  const Capsule capsule = test::capsule_of(
      detector_info(), author_of([](const auto&, const auto&) -> std::unique_ptr<Backend> {
        throw std::runtime_error("must not be called");
      }),
      {.inference_mode = false});

  EXPECT_EQ(capsule.name(), "detector_fake");
  EXPECT_THAT(capsule.devices(), IsEmpty());
  EXPECT_EQ(capsule.workload(), 0);
}

TEST(Capsule, RunsNoFrameOutsideInferenceMode) {
  Capsule capsule = test::capsule_of(detector_info(), author_of([](const auto&, const auto&) {
                                       return std::make_unique<FakeBackend>();
                                     }),
                                     {.inference_mode = false});

  const auto error = error_of<CapsuleLoadError>([&] { capsule.process_frame(frame_at(0)); });

  EXPECT_EQ(error.code(), ErrorCode::no_backend);
  EXPECT_THAT(error.what(), HasSubstr("load it with inference_mode = true"));
}

// Description

TEST(Capsule, HasTheCapabilityThatItsOutputAddsToItsInput) {
  CapsuleInfo info = detector_info();
  info.input_type = {.size = Size::all, .detections = {"person"}};
  info.output_type = {.size = Size::all, .detections = {"person"}, .tracked = true};

  const NodeDescription capability = make_capsule(info, gives_nothing())->capability();

  EXPECT_EQ(capability, (NodeDescription{.size = Size::all, .tracked = true}));
}

TEST(Capsule, GivesItsOptionsAtTheirDefaults) {
  const OptionValues options = make_capsule(detector_info(), gives_nothing())->default_options();

  EXPECT_EQ(options.get<double>("threshold"), 0.5);
}

// Frames

TEST(Capsule, GivesNodesAndFrameToTheBackendAndReturnsItsResult) {
  CapsuleInfo info = detector_info();
  info.input_type = {.size = Size::single, .detections = {"car"}};
  info.output_type.detections = {"car7"};
  const auto capsule = make_capsule(
      info, [](const Frame& frame, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
        return DetectionNodes::all({{.name = nodes.node().name + std::to_string(frame.index)}});
      });

  const DetectionNodes result =
      capsule->process_frame(frame_at(7), DetectionNodes::single({.name = "car"}));

  ASSERT_EQ(result.size(), 1u);
  EXPECT_EQ(result[0].name, "car7");
}

/// A capsule whose backend records the threshold that it gets.
std::unique_ptr<Capsule> noting_threshold(double& seen) {
  return make_capsule(detector_info(), [&seen](const Frame&, DetectionNodes,
                                               const OptionValues& options, BaseStreamState&) {
    seen = options.get<double>("threshold");
    return DetectionNodes::all();
  });
}

TEST(Capsule, UsesItsDefaultsWhenNoOptionsAreGiven) {
  double seen = 0;

  noting_threshold(seen)->process_frame(frame_at(0));

  EXPECT_EQ(seen, 0.5);
}

TEST(Capsule, UsesTheGivenOptions) {
  double seen = 0;
  const auto capsule = noting_threshold(seen);
  OptionValues options = capsule->default_options();
  options.set("threshold", 0.75);

  capsule->process_frame(frame_at(0), {}, options);

  EXPECT_EQ(seen, 0.75);
}

TEST(Capsule, UsesOptionsOfAnotherInstanceOfTheSameCapsule) {
  double seen = 0;
  OptionValues options = make_capsule(detector_info(), gives_nothing())->default_options();
  options.set("threshold", 0.25);

  noting_threshold(seen)->process_frame(frame_at(0), {}, options);

  EXPECT_EQ(seen, 0.25);
}

TEST(Capsule, RefusesOptionsOfAnotherCapsule) {
  const auto capsule = make_capsule(detector_info(), gives_nothing());
  const OptionValues foreign(Options{{"speed", IntOption{}}}, "capsule other");

  const auto error =
      error_of<OptionError>([&] { capsule->process_frame(frame_at(0), {}, foreign); });

  EXPECT_EQ(error.code(), ErrorCode::unknown_option);
  EXPECT_THAT(error.what(), HasSubstr("option \"speed\" is unknown to capsule detector_fake"));
}

TEST(Capsule, RefusesOptionsOfTheSameNameWithAnotherDeclaration) {
  const auto capsule = make_capsule(detector_info(), gives_nothing());
  const OptionValues foreign(Options{{"threshold", BoolOption{}}}, "capsule other");

  EXPECT_THROW(capsule->process_frame(frame_at(0), {}, foreign), OptionError);
}

TEST(Capsule, RefusesNodesOfAnotherSizeThanItsInput) {
  const auto capsule = make_capsule(detector_info(), gives_nothing());

  const auto error =
      error_of<TypeMismatch>([&] { capsule->process_frame(frame_at(0), DetectionNodes::all()); });

  EXPECT_STREQ(error.what(),
               "capsule detector_fake was given nodes of size all; its declared size is none");
}

TEST(Capsule, RefusesAResultOfAnotherSizeThanItsOutput) {
  const auto capsule =
      make_capsule(detector_info(), [](const Frame&, DetectionNodes, const OptionValues&,
                                       BaseStreamState&) { return DetectionNodes::none(); });

  const auto error = error_of<TypeMismatch>([&] { capsule->process_frame(frame_at(0)); });

  EXPECT_STREQ(error.what(),
               "capsule detector_fake returned nodes of size none; its declared size is all");
}

TEST(Capsule, PassesOnAnExceptionOfItsBackendAndContinues) {
  const auto capsule = make_capsule(detector_info(),
                                    [](const Frame& frame, DetectionNodes, const OptionValues&,
                                       BaseStreamState&) -> DetectionNodes {
                                      if (frame.index == 7) throw std::domain_error("frame 7");
                                      return DetectionNodes::all();
                                    });

  EXPECT_THROW(capsule->process_frame(frame_at(7)), std::domain_error);
  EXPECT_NO_THROW(capsule->process_frame(frame_at(8)));
  EXPECT_EQ(capsule->workload(), 0);
}

// Encodings

std::unique_ptr<Capsule> encoder(
    std::function<std::vector<float>(std::span<const float>, std::span<const std::vector<float>>)>
        compare) {
  CapsuleInfo info = detector_info();
  info.output_type.encoded = true;
  info.recognition_threshold = 0.5;
  return test::kept_capsule_of(info, author_of([compare](const auto&, const auto&) {
                                 auto backend = std::make_unique<FakeBackend>();
                                 backend->compare = compare;
                                 return backend;
                               }),
                               Capsule::Setup{.devices = {"CPU:0"}});
}

TEST(Capsule, ComparesEncodingsByTheAuthorsMeasure) {
  const auto capsule = encoder([](std::span<const float> one, auto others) {
    std::vector<float> distances;
    for (const std::vector<float>& other : others) distances.push_back(other[0] - one[0]);
    return distances;
  });
  const std::vector<float> one{1};
  const std::vector<std::vector<float>> others{{3}, {4}};

  EXPECT_THAT(capsule->distances(one, others), ElementsAre(2, 3));
}

TEST(Capsule, RefusesAWrongNumberOfDistances) {
  const auto capsule = encoder([](auto, auto) { return std::vector<float>{1, 2}; });
  const std::vector<std::vector<float>> others{{3}};

  const auto error = error_of<TypeMismatch>([&] { capsule->distances({}, others); });

  EXPECT_STREQ(error.what(), "capsule detector_fake returned 2 distances for 1 encodings");
}

TEST(Capsule, RefusesToCompareEncodingsWhenItMakesNone) {
  const auto capsule = make_capsule(detector_info(), gives_nothing());

  const auto error = error_of<InvalidArgument>([&] { capsule->distances({}, {}); });

  EXPECT_THAT(error.what(), HasSubstr("capsule detector_fake makes no encodings"));
}

TEST(Capsule, SaysThatAnEncoderMustOverrideDistances) {
  const auto capsule = encoder(nullptr);

  const auto error = error_of<InvalidArgument>([&] { capsule->distances({}, {}); });

  EXPECT_THAT(error.what(), HasSubstr("must override Backend::distances()"));
}

// The end

TEST(Capsule, DrainsEveryBackendBeforeItClosesAny) {
  Journal journal;
  Capsule capsule = test::capsule_of(detector_info(),
                                     author_of([&](const CapsuleFiles&, const std::string& device) {
                                       return journaling(journal, device);
                                     }),
                                     {.devices = gpus(2)});

  capsule.close();

  EXPECT_THAT(journal.lines(),
              ElementsAre("drain GPU:0", "drain GPU:1", "close GPU:0", "close GPU:1"));
}

TEST(Capsule, ClosesOnce) {
  Journal journal;
  {
    Capsule capsule = test::capsule_of(
        detector_info(), author_of([&](const CapsuleFiles&, const std::string& device) {
          return journaling(journal, device);
        }),
        {.devices = {"CPU:0"}});
    capsule.close();
    capsule.close();
  }

  EXPECT_THAT(journal.lines(), ElementsAre("drain CPU:0", "close CPU:0"));
}

TEST(Capsule, ClosesABackendWhoseDrainThrows) {
  Journal journal;
  Capsule capsule = test::capsule_of(
      detector_info(), author_of([&](const CapsuleFiles&, const std::string& device) {
        auto backend = journaling(journal, device);
        backend->on_drain = [] { throw std::runtime_error("stuck"); };
        return backend;
      }),
      {.devices = {"CPU:0"}});
  test::CallElsewhere elsewhere;
  set_log_hook([&](LogLevel, std::string_view line) {
    elsewhere([&] { capsule.backends(); });  // waits for close() if that still holds its lock
    journal.note(std::string(line));
  });

  capsule.close();
  set_log_hook({});

  EXPECT_THAT(
      journal.lines(),
      ElementsAre("close CPU:0", "the backend on CPU:0 failed while it was drained: stuck"));
  EXPECT_TRUE(elsewhere.all_ended());
}

TEST(Capsule, RefusesFramesAfterItsClose) {
  const auto capsule = make_capsule(detector_info(), gives_nothing());
  capsule->close();

  const auto error = error_of<BatchError>([&] { capsule->process_frame(frame_at(0)); });

  EXPECT_EQ(error.code(), ErrorCode::closed);
  EXPECT_THAT(error.what(), HasSubstr("capsule detector_fake is closed"));
}

}  // namespace
}  // namespace vcap
