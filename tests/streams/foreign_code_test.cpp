// SPDX-License-Identifier: Apache-2.0
// Code of hosts and authors runs without a lock: it may call the pipeline, or wait for a thread
// that does.
#include <gmock/gmock.h>

#include "support/call_elsewhere.hpp"
#include "support/closing_capsule.hpp"
#include "support/operation_helpers.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

/// A pipeline with the stream "open". touch() calls it from another thread, with all its locks.
class ForeignCode : public testing::Test {
 protected:
  ForeignCode() { pipeline_.open_stream({.id = "open", .source = feed_.source(), .pull = true}); }
  ~ForeignCode() override { set_log_hook({}); }

  static CapsuleInfo info_of(int version) {
    CapsuleInfo info = detector_info("detector", "person");
    info.version = version;
    info.options = {{"strict", BoolOption{.default_value = false}}};
    return info;
  }
  /// Finds a node that has the version in its extra data; fails at every frame if that is below 0.
  static std::shared_ptr<Capsule> capsule_of(int version, bool fails = false,
                                             std::function<void()> on_close = {}) {
    const auto process = [=](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
      if (fails) throw std::runtime_error("does not work");
      DetectionNodes nodes = DetectionNodes::all();
      nodes.add(note("person", std::to_string(version)));
      return nodes;
    };
    return make_closing_capsule(info_of(version), process, std::move(on_close));
  }
  void touch() {
    elsewhere_([this] {
      pipeline_.set_option("open", "detector", "strict", true);
      pipeline_.stats();
    });
  }
  std::function<void()> touches() {
    return [this] { touch(); };
  }
  /// From now on, log lines with that text touch the pipeline.
  void touch_at(std::string text) {
    set_log_hook([this, text = std::move(text)](LogLevel, std::string_view line) {
      if (line.find(text) != std::string_view::npos) touch();
    });
  }

  FrameFeed feed_{};
  Pipeline pipeline_{{capsule_of(1)}};
  CallElsewhere elsewhere_{};
};

/// Calls `tell` when it is first asked for its state.
class TellingSource final : public MemorySource {
 public:
  explicit TellingSource(std::function<void()> tell)
      : MemorySource({.frames = -1, .live = true}), tell_(std::move(tell)) {}
  std::optional<SourceState> state() const override {
    if (!has_told_.exchange(true)) tell_();
    return SourceState{.connection = SourceState::Connection::running};
  }

 private:
  const std::function<void()> tell_;
  mutable std::atomic<bool> has_told_ = false;
};

/// A source that can be cut into slices and calls `asked` at each of its functions that a pipeline
/// calls while it opens a stream, and when it is destroyed.
class AskedSource final : public Source {
 public:
  AskedSource(std::function<void()> asked, std::unique_ptr<Source> source)
      : asked_(std::move(asked)), source_(std::move(source)) {}
  ~AskedSource() override { asked_(); }
  SourceInfo info() const override {
    asked_();
    return source_->info();
  }
  std::optional<Frame> read() override { return source_->read(); }
  std::shared_ptr<const RandomAccess> random_access() override {
    asked_();
    return source_->random_access();
  }

 private:
  const std::function<void()> asked_;
  const std::unique_ptr<Source> source_;
};

/// A sink that does so.
class AskedSink final : public Sink {
 public:
  explicit AskedSink(std::function<void()> asked) : asked_(std::move(asked)) {}
  ~AskedSink() override { asked_(); }
  void write(const FrameRecord&) override {}
  bool needs_pixels() const override {
    asked_();
    return true;
  }

 private:
  const std::function<void()> asked_;
};

/// An exception whose what() calls `asked`.
struct AskedError final : std::exception {
  explicit AskedError(std::function<void()> given) : asked(std::move(given)) {}
  const char* what() const noexcept override {
    asked();
    return "asked";
  }
  std::function<void()> asked;
};

TEST_F(ForeignCode, SourcesSayTheirStateWithoutALock) {
  pipeline_.open_stream({.id = "live", .source = std::make_unique<TellingSource>(touches())});
  const PipelineStats stats = pipeline_.stats();
  EXPECT_EQ(stats.streams.at(0).id, "live");
  EXPECT_EQ(stats.streams[0].source_state->connection, SourceState::Connection::running);
  EXPECT_FALSE(stats.streams.at(1).source_state) << "a source that does not say it";
  EXPECT_EQ(elsewhere_.calls(), 1);
  EXPECT_TRUE(elsewhere_.all_ended());
}

TEST_F(ForeignCode, LogHookMayUseThePipelineAtTheEndOfATrial) {
  touch_at("in its trial");
  pipeline_.replace_capsule(capsule_of(2, true), {.trial_frames = 2});
  feed_.push(cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(7)));
  pipeline_.next("open");
  EXPECT_TRUE(elsewhere_.all_ended());
}

TEST_F(ForeignCode, LogHookMayUseThePipelineThatDoesNotCutAStream) {
  touch_at("is not cut into slices");
  pipeline_.open_stream({.id = "whole", .source = make_source(3), .slices = 0});
  EXPECT_EQ(pipeline_.wait("whole").frames, 3);
  EXPECT_TRUE(elsewhere_.all_ended());
}

TEST_F(ForeignCode, SourceAndSinkMayUseThePipelineThatOpensThem) {
  pipeline_.open_stream({.id = "cut",
                         .source = std::make_unique<AskedSource>(
                             touches(), std::make_unique<IndexedSource>("........")),
                         .sinks = {std::make_shared<AskedSink>(touches())},
                         .slices = 2});
  EXPECT_EQ(pipeline_.wait("cut").frames, 8);
  EXPECT_TRUE(elsewhere_.all_ended());
}

TEST_F(ForeignCode, RefusedSourceAndSinkMayUseThePipeline) {
  EXPECT_THAT(
      [&] {
        pipeline_.open_stream({.id = "open",
                               .source = std::make_unique<AskedSource>(touches(), make_source(3)),
                               .sinks = {std::make_shared<AskedSink>(touches())}});
      },
      ThrowsError<SourceError>(ErrorCode::duplicate_stream, testing::HasSubstr("open already")));
  EXPECT_TRUE(elsewhere_.all_ended());
}

TEST_F(ForeignCode, ReplacementWhileAStreamIsOpenedIsForThisStreamToo) {
  bool replaced = false;
  const auto replace = [&] {
    if (!std::exchange(replaced, true)) pipeline_.replace_capsule(capsule_of(2));
  };
  const std::vector<FrameRecord> records =
      run(pipeline_, {.source = std::make_unique<AskedSource>(replace, make_source(3))});
  EXPECT_THAT(notes_of(records, "person"), testing::ElementsAre("2", "2", "2"));
}

TEST_F(ForeignCode, CapsuleMayWaitForThePipelineThatReplacesIt) {
  pipeline_.replace_capsule(capsule_of(2, false, touches()));
  EXPECT_EQ(elsewhere_.calls(), 0);
  pipeline_.replace_capsule(capsule_of(3));
  EXPECT_EQ(elsewhere_.calls(), 1) << "the capsule is closed, since no frame uses it";
  EXPECT_TRUE(elsewhere_.all_ended());
}

TEST_F(ForeignCode, RefusedCapsuleMayWaitForThePipeline) {
  CapsuleInfo other = detector_info("other", "person");
  auto refused = make_closing_capsule(other, give_back, touches());
  EXPECT_THROW(pipeline_.replace_capsule(std::move(refused)), InvalidArgument);
  EXPECT_EQ(elsewhere_.calls(), 1);
  EXPECT_TRUE(elsewhere_.all_ended());
}

TEST_F(ForeignCode, TextOfAnErrorMayUseTheStreamThatFails) {
  for (const std::size_t slices : {1, 2}) {
    const std::string id = "slices " + std::to_string(slices);
    pipeline_.open_stream(
        {.id = id,
         .source = std::make_unique<IndexedSource>("...."),
         .sinks = {make_callback_sink([this](const FrameRecord&) { throw AskedError(touches()); })},
         .slices = slices});
    EXPECT_EQ(pipeline_.wait(id).failure.value_or(""), "asked");
  }
  EXPECT_TRUE(elsewhere_.all_ended());
}

}  // namespace
}  // namespace vcap::test
