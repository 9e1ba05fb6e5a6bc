// SPDX-License-Identifier: Apache-2.0
// The author's hooks: fetch_resources and setup_with_resources.
#include <gmock/gmock.h>

#include <mutex>
#include <string>
#include <vector>

#include "capsule/fake_capsule.hpp"
#include "support/throws_error.hpp"
#include "vcap/capsule/capsule.hpp"

namespace vcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Events = std::vector<std::string>;

/// The events in their order. Thread-safe.
class HookJournal {
 public:
  void add(const std::string& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }
  Events events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  mutable std::mutex mutex_;
  Events events_;
};

struct Plan {
  std::string fails{};  ///< the event that throws
};

class JournalBackend final : public Backend {
 public:
  JournalBackend(HookJournal& journal, std::string device, Plan plan)
      : journal_(journal), device_(std::move(device)), plan_(std::move(plan)) {}

  void setup_with_resources(const CapsuleFiles& files) override {
    journal_.add("setup " + device_ + " " + std::string(files.text("a")));
    if (plan_.fails == "setup " + device_) throw std::runtime_error("no room on the device");
  }
  DetectionNodes process_frame(const Frame&, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    return DetectionNodes::all();
  }
  void close() noexcept override { journal_.add("close " + device_); }

 private:
  HookJournal& journal_;
  const std::string device_;
  const Plan plan_;
};

class JournalCapsule final : public BaseCapsule {
 public:
  JournalCapsule(HookJournal& journal, Plan plan) : journal_(journal), plan_(std::move(plan)) {}

  void fetch_resources(const CapsuleFiles& files) override {
    journal_.add("fetch " + std::string(files.text("a")));
    if (plan_.fails == "fetch") throw std::runtime_error("the licence server is away");
  }
  std::unique_ptr<Backend> load_backend(const CapsuleFiles&, const std::string& device) override {
    journal_.add("load " + device);
    return std::make_unique<JournalBackend>(journal_, device, plan_);
  }

 private:
  HookJournal& journal_;
  const Plan plan_;
};

std::unique_ptr<Capsule> load(HookJournal& journal, Plan plan, bool inference_mode = true) {
  static const std::string content = "content";
  return test::kept_capsule_of(
      test::detector_info(), std::make_unique<JournalCapsule>(journal, std::move(plan)),
      Capsule::Setup{.files = {{{"a", std::as_bytes(std::span(content))}}, nullptr},
                     .devices = {"GPU:0", "GPU:1"},
                     .inference_mode = inference_mode});
}

// As docs/writing-a-capsule.md shows it.
class LargeDetector final : public vcap::BaseCapsule {
 public:
  // [resources]
  static vcap::CapsuleInfo info() {
    return {.name = "detector_large",
            .version = 1,
            .output_type = {.size = vcap::NodeDescription::Size::all, .detections = {"person"}},
            .resources = {{
                .name = "model.onnx",
                .url = "https://models.example/detector-large-3.onnx",
                .sha256 = "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c",
                .size = 1'288'490'188,
            }}};
  }
  // [/resources]
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return nullptr;
  }
};

TEST(Resources, AreDeclaredInTheDescription) {
  EXPECT_NO_THROW(check(LargeDetector::info()));
  EXPECT_EQ(LargeDetector::info().resources.at(0).name, "model.onnx");
}

TEST(ResourceHooks, FetchOnceAndThenSetUpEachBackend) {
  HookJournal journal;
  const auto capsule = load(journal, {});
  const Events events = journal.events();
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events.front(), "fetch content");
  EXPECT_THAT(events, UnorderedElementsAre("fetch content", "load GPU:0", "load GPU:1",
                                           "setup GPU:0 content", "setup GPU:1 content"));
}

TEST(ResourceHooks, AreNotCalledWithoutInferenceMode) {
  HookJournal journal;
  load(journal, {}, false);
  EXPECT_THAT(journal.events(), ElementsAre());
}

TEST(ResourceHooks, FailTheLoadBeforeAnyBackendWhenFetchingFails) {
  HookJournal journal;
  EXPECT_THAT([&] { load(journal, {.fails = "fetch"}); },
              ThrowsError<CapsuleLoadError>(
                  ErrorCode::capsule_threw,
                  AllOf(HasSubstr("capsule detector_fake: fetch_resources failed: "),
                        HasSubstr("the licence server is away"))));
  EXPECT_THAT(journal.events(), ElementsAre("fetch content"));
}

TEST(ResourceHooks, CloseEveryBackendWhenOneCannotBeSetUp) {
  HookJournal journal;
  EXPECT_THAT([&] { load(journal, {.fails = "setup GPU:1"}); },
              ThrowsError<CapsuleLoadError>(ErrorCode::backend_load_failed,
                                            AllOf(HasSubstr("GPU:1: setup_with_resources failed: "),
                                                  HasSubstr("no room on the device"))));
  EXPECT_THAT(journal.events(), testing::IsSupersetOf({"close GPU:0", "close GPU:1"}));
}

TEST(ResourceHooks, DoNothingUnlessOverridden) {
  EXPECT_NO_THROW(test::make_capsule(test::detector_info(),
                                     [](const Frame&, DetectionNodes, const OptionValues&,
                                        BaseStreamState&) { return DetectionNodes::all(); }));
}

}  // namespace
}  // namespace vcap
