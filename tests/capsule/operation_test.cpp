// SPDX-License-Identifier: Apache-2.0
// What a capsule declares about its use of frames over time: warm-up, batch, stencil.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"
#include "support/throws_error.hpp"
#include "vcap/capsule/base_backend.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct State final : BaseStreamState {};

CapsuleInfo info_with(std::function<void(CapsuleInfo&)> change) {
  CapsuleInfo info = detector_info();
  change(info);
  return info;
}

TEST(Operation, IsRefusedWhenItIsInvalid) {
  const struct {
    std::function<void(CapsuleInfo&)> change;
    const char* complaint;
  } cases[] = {
      {[](auto& info) { info.warmup = 3; }, "warmup is given, but there is no stream_state"},
      {[](auto& info) {
         info.stream_state = make_stream_state<State>();
         info.warmup = -1;
       },
       "warmup -1 is not 0 or more frames"},
      {[](auto& info) { info.batch = {.maximum = 0}; }, "batch.maximum 0 is not at least 1"},
      {[](auto& info) { info.batch = {.preferred = 9, .maximum = 8}; },
       "batch.maximum 8 is not at least 1 and at least batch.preferred (9)"},
      {[](auto& info) { info.stencil.emplace(); }, "stencil has no offsets"},
      {[](auto& info) {
         info.stencil = {{-1, 0, -1}};
       },
       "stencil lists offset -1 twice"},
      {[](auto& info) {
         info.stencil = {{0, 1001}};
       },
       "offset 1001 is not within -1000 to 1000"},
      {[](auto& info) {
         info.input_type = {.size = NodeDescription::Size::all, .detections = {"person"}};
         info.stencil = {{-1, 1}};
       },
       "stencil lacks offset 0"},
  };
  for (const auto& [change, complaint] : cases)
    EXPECT_THAT([&change = change] { check(info_with(change)); },
                ThrowsError<InvalidCapsuleError>(
                    ErrorCode::invalid_capsule_info,
                    testing::AllOf(HasSubstr("capsule detector_fake"), HasSubstr(complaint))));
  check(info_with([](auto& info) { info.stencil = {{1000, -1000}}; }));
  check(info_with([](auto& info) {
    info.batch = {.preferred = 8, .maximum = 8};
    info.stencil = {{0, 1}};
  }));
  check(info_with([](auto& info) {
    info.stream_state = make_stream_state<State>();
    info.warmup = 0;
  }));
}

TEST(Operation, IsInTheDescription) {
  const CapsuleInfo info = info_with([](auto& all) {
    all.stream_state = make_stream_state<State>();
    all.warmup = 30;
    all.stencil = {{2, -1, 0}, StencilEdge::null};
  });
  const nlohmann::json json = info;
  EXPECT_EQ(json.at("warmup"), 30);
  EXPECT_EQ(json.at("stencil"), nlohmann::json::parse(R"({"offsets":[2,-1,0],"edge":"null"})"));
  EXPECT_FALSE(json.contains("batch"));
  const auto back = json.get<CapsuleInfo>();
  EXPECT_EQ(back.warmup, 30);
  EXPECT_EQ(back.stencil, info.stencil);

  const nlohmann::json batched =
      info_with([](auto& all) { all.batch = {.preferred = 8, .maximum = 32}; });
  EXPECT_EQ(batched.at("batch"), nlohmann::json::parse(R"({"preferred":8,"maximum":32})"));
  EXPECT_EQ(batched.get<CapsuleInfo>().batch, (BatchSizes{8, 32}));
}

TEST(Operation, IsReadStrictly) {
  const nlohmann::json good = info_with([](auto& info) { info.stencil = {{-1, 0}}; });
  const struct {
    const char* pointer;
    nlohmann::json value;
    const char* complaint;
  } cases[] = {
      {"/stencil/edge", "wrap", "repeat, null or error"},
      {"/stencil/offsets/0", "one", "/stencil/offsets/0"},
      {"/stencil/offsets/0", 5'000'000'000, "a whole number of 32 bits"},
      {"/batch", {{"preferred", 1}, {"maximum", -4}}, "/batch/maximum"},
      {"/warmup", 2.5, "/warmup"},
  };
  for (const auto& [pointer, value, complaint] : cases) {
    nlohmann::json json = good;
    json[nlohmann::json::json_pointer(pointer)] = value;
    EXPECT_THAT([&] { json.get<CapsuleInfo>(); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_json, HasSubstr(complaint)))
        << pointer;
  }
}

class Batching final : public BaseBackend<int, int> {
 public:
  explicit Batching(std::vector<std::size_t>& sizes) : sizes_(sizes) {}
  DetectionNodes process_frame(const Frame&, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    predict_all(std::vector<int>(10, 1));
    return DetectionNodes::all();
  }
  std::vector<int> batch_predict(std::span<const int> inputs) override {
    sizes_.push_back(inputs.size());
    return {inputs.begin(), inputs.end()};
  }

 private:
  std::vector<std::size_t>& sizes_;
};

TEST(Operation, GivesBackendsTheSizesOfTheirBatches) {
  const auto sizes_of = [](std::optional<BatchSizes> batch, std::optional<BatchSizes> wanted = {}) {
    std::vector<std::size_t> sizes;
    Capsule capsule = test::capsule_of(info_with([&](auto& info) { info.batch = batch; }),
                                       author_of([&](const CapsuleFiles&, const std::string&) {
                                         return std::make_unique<Batching>(sizes);
                                       }),
                                       Capsule::Setup{.devices = {"CPU:0"}, .batch = wanted});
    capsule.process_frame(frame_at(0));
    capsule.close();
    return sizes;
  };
  EXPECT_THAT(sizes_of({}), ElementsAre(10));
  EXPECT_THAT(sizes_of(BatchSizes{.maximum = 4}), ElementsAre(4, 4, 2));
  EXPECT_THAT(sizes_of(BatchSizes{.preferred = 3, .maximum = 8}), ElementsAre(8, 2));
  EXPECT_THAT(sizes_of(BatchSizes{.maximum = 4}, BatchSizes{.maximum = 6}), ElementsAre(6, 4))
      << "the host's setting";
}

TEST(Operation, IsRefusedByACapsuleThatDoesNotSupportIt) {
  const auto give = [](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
    return DetectionNodes::all();
  };
  const auto plain = make_capsule(detector_info(), give);
  const std::vector<Frame> two{frame_at(0), frame_at(1)};
  std::vector<DetectionNodes> nodes(2);
  EXPECT_THAT(
      [&] { plain->process_window(two[0], two, nodes); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("it has no stencil")));
  EXPECT_FALSE(plain->process_frames(two, nodes)) << "this backend takes only single frames";
  EXPECT_THAT([&] { plain->process_frame({.is_null = true}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("is null")));

  const auto windowed = make_capsule(info_with([](auto& info) {
                                       info.stencil = {{-1, 0, 1}};
                                     }),
                                     give);
  EXPECT_THAT(
      [&] { windowed->process_window(two[0], two, nodes); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("give 3 of each")));
  EXPECT_THAT([&] { windowed->process_frame(two[0]); },
              ThrowsError<Error>(ErrorCode::misbehaving_capsule,
                                 HasSubstr("does not override process_window")));
  const auto stateful = make_capsule(
      info_with([](auto& info) { info.stream_state = make_stream_state<State>(); }), give);
  EXPECT_THAT([&] { stateful->process_frames(two, nodes); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("takes frames one by one")));
}

TEST(Operation, HasTheStencilOfTheHostIfThereIsOne) {
  const auto load = [](std::optional<Stencil> own, Stencil given) {
    return test::kept_capsule_of(
        info_with([&](auto& info) { info.stencil = own; }),
        author_of([](auto&&...) { return std::make_unique<FakeBackend>(); }),
        Capsule::Setup{.devices = {"CPU:0"}, .stencil = std::move(given)});
  };
  const Stencil farther{.offsets = {-5, 0}, .edge = StencilEdge::null};
  EXPECT_EQ(load(Stencil{.offsets = {-1, 0}}, farther)->info().stencil, farther);
  EXPECT_THAT([&] { load({}, farther); },
              ThrowsError<InvalidArgument>(
                  ErrorCode::invalid_argument,
                  HasSubstr("gave capsule detector_fake a stencil, but it has none")));
  EXPECT_THAT(
      [&] {
        load(Stencil{.offsets = {-1, 0}}, {.offsets = {0, 0}});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                   HasSubstr("stencil lists offset 0 twice")));
}

TEST(Operation, TellsTheAuthorWhichStencilHolds) {
  class Asking final : public BaseCapsule {
   public:
    explicit Asking(std::optional<Stencil>& seen) : seen_(seen) {}
    std::unique_ptr<Backend> load_backend(const CapsuleFiles&, const std::string&) override {
      seen_ = stencil();
      return std::make_unique<FakeBackend>();
    }

   private:
    std::optional<Stencil>& seen_;
  };
  const auto seen = [](std::optional<Stencil> own, std::optional<Stencil> given) {
    std::optional<Stencil> told;
    const Capsule capsule = test::capsule_of(
        info_with([&](auto& info) { info.stencil = own; }), std::make_unique<Asking>(told),
        Capsule::Setup{.devices = {"CPU:0"}, .stencil = std::move(given)});
    return told;
  };
  const Stencil own{.offsets = {-1, 0}}, farther{.offsets = {-5, 0}};
  EXPECT_EQ(seen(own, {}), own);
  EXPECT_EQ(seen(own, farther), farther);
  EXPECT_EQ(seen({}, {}), std::nullopt);
}

TEST(Operation, KeepsOpeningsOfOneStreamSeparate) {
  std::vector<const BaseStreamState*> seen;
  const auto capsule =
      make_capsule(info_with([](auto& info) { info.stream_state = make_stream_state<State>(); }),
                   [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState& state) {
                     seen.push_back(&state);
                     return DetectionNodes::all();
                   });
  const StreamHandle one = capsule->open_apart({.id = "s"});
  const StreamHandle other = capsule->open_apart({.id = "s"});
  capsule->open_stream({.id = "s"});
  for (const StreamRef& stream : {StreamRef(one), StreamRef(other), StreamRef("s"), StreamRef(one)})
    capsule->process_frame(frame_at(static_cast<std::int64_t>(seen.size())), {}, {}, stream);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0], seen[3]);
  EXPECT_NE(seen[0], seen[1]);
  EXPECT_NE(seen[0], seen[2]);
  EXPECT_NE(seen[1], seen[2]);
  EXPECT_EQ(capsule->stream_count(), 1u);
}

}  // namespace
}  // namespace vcap::test
