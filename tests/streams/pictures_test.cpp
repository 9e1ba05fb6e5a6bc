// SPDX-License-Identifier: Apache-2.0
// Pictures that capsules give, on their way through a pipeline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "records/record_line.hpp"
#include "support/bounded_wait.hpp"
#include "support/operation_helpers.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSubsetOf;
using testing::SizeIs;

constexpr int kPictureFrames = 40;

/// A mask of one value: the frame's index.
cv::Mat mask_of(const Frame& frame) {
  return {frame.image.size(), CV_8UC1, cv::Scalar(static_cast<double>(frame.index % 251))};
}

CapsuleInfo masker_info() {
  return {.name = "masker", .gives_pictures = {{.name = "mask", .type = CV_8UC1}}};
}

DetectionNodes give_mask(const Frame& frame) {
  DetectionNodes output;
  output.give_picture("mask", mask_of(frame));
  return output;
}

/// Fails at the frame with that index.
std::shared_ptr<Capsule> make_masker(std::int64_t failing = -1, int version = 1) {
  CapsuleInfo info = masker_info();
  info.version = version;
  return make_capsule(info, [failing](const Frame& frame, auto&&...) {
    if (frame.index == failing) throw std::runtime_error("no mask today");
    return give_mask(frame);
  });
}

/// "3" for the mask of frame 3, "-" if there is none.
std::string value_of(const Frame& frame) {
  const cv::Mat* const mask = frame.pictures.find("mask");
  return mask != nullptr ? std::to_string(mask->at<unsigned char>(0, 0)) : "-";
}

CapsuleInfo reader_info(std::string name = "reader") {
  CapsuleInfo info = detector_info(std::move(name), "note");
  info.output_type.extra_data = {"note"};
  info.takes_pictures = {{.name = "mask", .type = CV_8UC1, .size = PictureSize::any}};
  return info;
}

/// Notes the value of the mask.
DetectionNodes read_mask(const Frame& frame) {
  return DetectionNodes::all({note("note", value_of(frame))});
}

std::shared_ptr<Capsule> make_reader() {
  return make_capsule(reader_info(),
                      [](const Frame& frame, auto&&...) { return read_mask(frame); });
}

std::vector<std::string> indexes(std::int64_t frames) {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < frames; ++i) texts.push_back(std::to_string(i));
  return texts;
}

/// Where the pixels of masks are, by the index of their frame. Keeps all masks, so that no memory
/// is used twice. Thread-safe.
class MaskPixels {
 public:
  using Places = std::set<std::pair<std::int64_t, const void*>>;

  /// Gives the frame a mask.
  DetectionNodes give(const Frame& frame) {
    DetectionNodes output = give_mask(frame);
    const std::lock_guard lock(mutex_);
    masks_.push_back(output.pictures().at("mask"));
    given_.emplace(frame.index, masks_.back().data);
    return output;
  }
  /// Notes what a later capsule gets.
  void see(const Frame& frame) {
    const std::lock_guard lock(mutex_);
    seen_.emplace(frame.index, frame.pictures.at("mask").data);
  }
  /// Expects that capsules and records have the given masks of their frames, and no copies.
  void expect_shared(const std::vector<FrameRecord>& records) const {
    Places recorded;
    for (const FrameRecord& record : records)
      recorded.emplace(record.frame.index, record.frame.pictures.at("mask").data);
    EXPECT_THAT(recorded, SizeIs(kPictureFrames));
    EXPECT_THAT(seen_, SizeIs(Ge(kPictureFrames)));
    EXPECT_THAT(recorded, IsSubsetOf(given_));
    EXPECT_THAT(seen_, IsSubsetOf(given_));
  }

 private:
  std::mutex mutex_;
  std::vector<cv::Mat> masks_;
  Places given_, seen_;
};

std::shared_ptr<Capsule> make_masker(MaskPixels& pixels) {
  return make_capsule(masker_info(),
                      [&pixels](const Frame& frame, auto&&...) { return pixels.give(frame); });
}

TEST(StreamPictures, ReachLaterCapsulesAndRecordsWithoutACopy) {
  MaskPixels pixels;
  const auto reader = make_capsule(reader_info(), [&](const Frame& frame, auto&&...) {
    pixels.see(frame);
    return read_mask(frame);
  });
  Pipeline pipeline({reader, make_masker(pixels)});
  const auto records = run(pipeline, {.source = make_source(kPictureFrames)});
  EXPECT_EQ(notes_of(records, "note"), indexes(kPictureFrames));
  pixels.expect_shared(records);
}

TEST(StreamPictures, ReachWindowsWithoutACopyInSlicesToo) {
  for (const std::size_t slices : {1u, 4u}) {
    SCOPED_TRACE(slices);
    MaskPixels pixels;
    CapsuleInfo info = reader_info();
    info.stencil = Stencil{.offsets = {-1, 0}, .edge = StencilEdge::repeat};
    const auto reader = make_window_capsule(info, [&](std::span<const Frame> frames, auto&&...) {
      for (const Frame& frame : frames) pixels.see(frame);
      return read_mask(frames.back());
    });
    Pipeline pipeline({reader, make_masker(pixels)});
    const auto records =
        run(pipeline, {.source = std::make_unique<IndexedSource>(std::string(kPictureFrames, '.')),
                       .slices = slices});
    EXPECT_EQ(notes_of(records, "note"), indexes(kPictureFrames));
    pixels.expect_shared(records);
  }
}

TEST(StreamPictures, AreDescribedInRecordsWithoutPixels) {
  Pipeline pipeline({make_masker()});
  const auto records = run(pipeline, {.source = make_source(1)});
  EXPECT_THAT(record_line(records[0]),
              HasSubstr(R"("pictures":[{"name":"mask","type":"8UC1","width":16,"height":12}])"));
}

TEST(StreamPictures, OfACapsuleThatGivesNoNodesLeaveTheNodesThatItTakes) {
  CapsuleInfo info = masker_info();
  info.input_type = {.size = Size::all, .detections = {"person"}};
  Pipeline pipeline({make_detector("detector", "person", 2),
                     make_capsule(info, [](const Frame& frame, DetectionNodes nodes, auto&&...) {
                       EXPECT_THAT(nodes, SizeIs(2));
                       return give_mask(frame);
                     })});
  for (const FrameRecord& record : run(pipeline, {.source = make_source(3)})) {
    EXPECT_THAT(names(record.objects), ElementsAre("person", "person"));
    EXPECT_THAT(record.pictures, SizeIs(1));
    EXPECT_THAT(record.errors, IsEmpty());
  }
}

TEST(StreamPictures, AreShownOnlyToCapsulesThatTakeThem) {
  Pipeline pipeline({make_masker(), make_capsule(detector_info("other", "note"),
                                                 [](const Frame& frame, auto&&...) {
                                                   EXPECT_TRUE(frame.pictures.empty());
                                                   return DetectionNodes::all();
                                                 })});
  EXPECT_THAT(run(pipeline, {.source = make_source(5)}), SizeIs(5));
}

TEST(StreamPictures, ThatAreMissingLeaveOutTheCapsuleAndDoNotBlameIt) {
  Pipeline pipeline({make_masker(1), make_reader()});
  const auto records = run(pipeline, {.source = make_source(3)});
  EXPECT_EQ(note_of(records[0], "note"), "0");
  EXPECT_THAT(records[1].objects, IsEmpty());
  EXPECT_THAT(records[1].pictures, IsEmpty());
  ASSERT_THAT(records[1].errors, SizeIs(1));
  EXPECT_EQ(records[1].errors[0].capsule, "masker");
  ASSERT_THAT(records[1].warnings, SizeIs(1));
  EXPECT_EQ(records[1].warnings[0].capsule, "reader");
  EXPECT_EQ(records[1].warnings[0].code, "missing_picture");
  EXPECT_EQ(note_of(records[2], "note"), "2");
}

TEST(StreamPictures, ThatAreKeptWithAWarningReachNoCapsuleThatCannotUseThem) {
  const auto masker = make_capsule(masker_info(), [](const Frame& frame, auto&&...) {
    DetectionNodes output;
    const int type = frame.index == 1 ? CV_32FC1 : CV_8UC1;
    output.give_picture("mask", cv::Mat(frame.image.size(), type, cv::Scalar(0)));
    return output;
  });
  Pipeline pipeline({masker, make_reader()},
                    {.outputs = OutputPolicy{.invalid = InvalidOutput::warn}});
  const auto records = run(pipeline, {.source = make_source(3)});
  EXPECT_THAT(records[1].errors, IsEmpty());
  ASSERT_THAT(records[1].warnings, SizeIs(2));
  EXPECT_EQ(records[1].warnings[0].capsule, "masker");
  EXPECT_EQ(records[1].warnings[0].code, "invalid_output");
  EXPECT_EQ(records[1].warnings[1].capsule, "reader");
  EXPECT_EQ(records[1].warnings[1].code, "missing_picture");
  EXPECT_EQ(note_of(records[2], "note"), "0");
}

TEST(StreamPictures, ThatAreNotAsDeclaredAreDiscardedWithTheirNodes) {
  CapsuleInfo info = detector_info("masker", "person");
  info.gives_pictures = masker_info().gives_pictures;
  Pipeline pipeline(
      {make_capsule(info,
                    [](const Frame& frame, auto&&...) {
                      DetectionNodes output = DetectionNodes::all({{.name = "person"}});
                      output.give_picture(frame.index == 1 ? "mosk" : "mask", mask_of(frame));
                      return output;
                    }),
       make_reader()});
  const auto records = run(pipeline, {.source = make_source(3)});
  ASSERT_THAT(records[1].errors, SizeIs(1));
  EXPECT_EQ(records[1].errors[0].capsule, "masker");
  EXPECT_EQ(records[1].errors[0].code, "invalid_output");
  EXPECT_THAT(records[1].objects, IsEmpty());
  EXPECT_TRUE(records[1].frame.pictures.empty());
  EXPECT_THAT(names(records[2].objects), ElementsAre("person", "note"));
}

/// Notes the frames and masks of its window: "3:3 4:4".
std::shared_ptr<Capsule> make_window_reader(std::vector<int> offsets, StencilEdge edge) {
  CapsuleInfo info = reader_info();
  info.stencil = Stencil{.offsets = std::move(offsets), .edge = edge};
  return make_window_capsule(info, [](std::span<const Frame> frames, auto&&...) {
    std::string text;
    for (const Frame& frame : frames)
      text += (text.empty() ? "" : " ") + shown(frame) + ":" + value_of(frame);
    return DetectionNodes::all({note("note", text)});
  });
}

TEST(StreamPictures, OfOtherFramesAreInWindows) {
  Pipeline nulls({make_masker(2), make_window_reader({-1, 0, 1}, StencilEdge::null)});
  const auto records = run(nulls, {.source = make_source(5)});
  EXPECT_EQ(note_of(records[0], "note"), "-:- 0:0 1:1");
  EXPECT_EQ(note_of(records[1], "note"), "0:0 1:1 2:-") << "the masker fails at frame 2";
  EXPECT_THAT(records[2].objects, IsEmpty());
  EXPECT_EQ(note_of(records[3], "note"), "2:- 3:3 4:4");
  EXPECT_EQ(note_of(records[4], "note"), "3:3 4:4 -:-");
  Pipeline repeats({make_masker(), make_window_reader({-1, 0}, StencilEdge::repeat)});
  EXPECT_EQ(note_of(run(repeats, {.source = make_source(2)})[0], "note"), "0:0 0:0");
}

/// A capsule that takes frames together. `largest` notes how many frames its largest call had.
/// `before_alone` is called before a frame is processed by itself.
std::shared_ptr<Capsule> make_gathering(CapsuleInfo info, std::atomic<std::size_t>& largest,
                                        std::function<void(const Frame&)> before_alone,
                                        std::function<DetectionNodes(const Frame&)> process) {
  info.batch = BatchSizes{.preferred = 4, .maximum = 8};
  return make_batch_capsule(
      info,
      [process, &largest](std::span<const Frame> frames, std::span<DetectionNodes>) {
        // The capsule has one backend, so its calls come one after the other.
        largest = std::max<std::size_t>(largest, frames.size());
        std::vector<DetectionNodes> results;
        for (const Frame& frame : frames) results.push_back(process(frame));
        return std::optional(std::move(results));
      },
      [process, before_alone = std::move(before_alone)](const Frame& frame, auto&&...) {
        before_alone(frame);
        return process(frame);
      });
}

/// Runs a capsule that gives masks and one that reads them. The first frame that each processes by
/// itself is held until others wait behind it, so that they go together.
std::vector<FrameRecord> run_gathered_pictures(std::function<DetectionNodes(const Frame&)> give,
                                               std::function<DetectionNodes(const Frame&)> read) {
  std::atomic<std::size_t> largest_given = 0, largest_read = 0;
  std::atomic<std::int64_t> given = 0;
  Latch all_read;
  const Pipeline* running = nullptr;
  const auto until_all_have_begun = [&](const Frame& frame) {
    if (frame.index != 0) return;
    all_read.wait("the end of the source");
    yield_until("the begin of all frames",
                [&] { return running->stats().streams.front().waiting == 0; });
  };
  // Not always frame 0: the other worker may overtake it.
  std::atomic<bool> was_held = false;
  const auto until_all_are_given = [&](const Frame&) {
    if (was_held.exchange(true)) return;
    yield_until("the masks of all frames", [&] { return given == kPictureFrames; });
  };
  const auto counting = [&](const Frame& frame) {
    DetectionNodes output = give(frame);
    ++given;
    return output;
  };
  Pipeline pipeline({make_gathering(masker_info(), largest_given, until_all_have_begun, counting),
                     make_gathering(reader_info(), largest_read, until_all_are_given, read)},
                    {.workers = 2});
  running = &pipeline;
  auto source = std::make_unique<MemorySource>(
      MemorySource::Plan{.frames = kPictureFrames, .after_last = [&] { all_read.open(); }});
  auto records =
      run(pipeline, {.source = std::move(source), .frames_in_flight = kPictureFrames + 1});
  EXPECT_GT(largest_given, 1u) << "no frames went together to the capsule that gives masks";
  EXPECT_GT(largest_read, 1u) << "no frames went together to the capsule that reads masks";
  return records;
}

TEST(StreamPictures, GoThroughCallsForSeveralFrames) {
  EXPECT_EQ(notes_of(run_gathered_pictures(give_mask, read_mask), "note"), indexes(kPictureFrames));
}

TEST(StreamPictures, AreThoseOfAnUncutRunInSlices) {
  const auto records_in = [](std::size_t slices) {
    Pipeline pipeline({make_masker(), make_window_reader({-2, 0, 1}, StencilEdge::repeat)});
    std::vector<std::string> lines;
    for (const FrameRecord& record :
         run(pipeline, {.source = std::make_unique<IndexedSource>(std::string(kPictureFrames, '.')),
                       .slices = slices})) {
      EXPECT_EQ(value_of(record.frame), std::to_string(record.frame.index));
      lines.push_back(record_line(record));
    }
    return lines;
  };
  EXPECT_EQ(records_in(4), records_in(1));
}

TEST(StreamPictures, ContinueWhenTheCapsuleThatGivesThemIsReplaced) {
  Pipeline pipeline({make_masker(), make_reader()});
  std::atomic<std::int64_t> records = 0;
  std::vector<std::string> notes;
  pipeline.open_stream({.id = "s",
                        .source = std::make_unique<MemorySource>(
                            MemorySource::Plan{.frames = kPictureFrames,
                                               .before =
                                                   [&](Frame& frame) {
                                                     if (frame.index == kPictureFrames / 2)
                                                       pipeline.replace_capsule(make_masker(-1, 2));
                                                   }}),
                        .sinks = {make_callback_sink([&](const FrameRecord& record) {
                          ++records;
                          notes.push_back(note_of(record, "note"));
                        })}});
  pipeline.wait("s");
  EXPECT_EQ(notes, indexes(kPictureFrames));
}

TEST(StreamPictures, ThatAStreamNeedsCannotBeReplacedAway) {
  Pipeline pipeline({make_masker(), make_reader()});
  CapsuleInfo info = masker_info();
  info.version = 2;
  info.gives_pictures[0].type = CV_8UC3;
  const auto other = make_capsule(info, [](auto&&...) { return DetectionNodes(); });
  EXPECT_THAT([&] { pipeline.replace_capsule(other); },
              ThrowsError<PlanError>(ErrorCode::type_mismatch,
                                     AllOf(HasSubstr("masker"), HasSubstr("reader"))));
}

/// Uses pictures by their names, and no frames.
class NamedSink final : public Sink {
 public:
  NamedSink(std::vector<std::string> names, std::vector<std::set<std::string>>& seen)
      : names_(std::move(names)), seen_(seen) {}
  void write(const FrameRecord& record) override {
    std::set<std::string>& seen = seen_.emplace_back();
    for (const auto& [name, image] : record.frame.pictures) seen.insert(name);
  }
  bool needs_pixels() const override { return false; }
  std::vector<std::string> pictures() const override { return names_; }

 private:
  const std::vector<std::string> names_;
  std::vector<std::set<std::string>>& seen_;
};

TEST(StreamPictures, AreFreedAfterTheLastCapsuleThatTakesThemUnlessASinkUsesThem) {
  CapsuleInfo info = masker_info();
  info.gives_pictures.push_back({.name = "shown"});
  const auto masker = make_capsule(info, [](const Frame& frame, auto&&...) {
    DetectionNodes output = give_mask(frame);
    output.give_picture("shown", frame.image);
    return output;
  });
  for (const std::size_t slices : {1u, 2u}) {
    Pipeline pipeline({masker, make_reader()});
    std::vector<std::set<std::string>> seen;
    pipeline.open_stream(
        {.id = "s",
         .source = std::make_unique<IndexedSource>(std::string(kPictureFrames, '.')),
         .sinks = {std::make_shared<NamedSink>(std::vector<std::string>{"shown"}, seen)},
         .slices = slices});
    pipeline.wait("s");
    EXPECT_THAT(seen, SizeIs(kPictureFrames));
    EXPECT_THAT(seen, Each(ElementsAre("shown"))) << "the mask is freed";
  }
}

TEST(StreamPictures, ThatASinkUsesCannotBeReplacedAway) {
  Pipeline pipeline({make_masker()});
  CapsuleInfo info = masker_info();
  info.version = 2;
  info.gives_pictures[0].name = "other";
  const auto other = make_capsule(info, [](auto&&...) { return DetectionNodes(); });
  std::vector<std::set<std::string>> seen;
  const auto replace = [&](Frame& frame) {
    if (frame.index != 2) return;
    EXPECT_THAT([&] { pipeline.replace_capsule(other); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                             HasSubstr("a sink for picture \"mask\"")));
  };
  pipeline.open_stream(
      {.id = "s",
       .source = std::make_unique<MemorySource>(MemorySource::Plan{.frames = 5, .before = replace}),
       .sinks = {std::make_shared<NamedSink>(std::vector<std::string>{"mask"}, seen)}});
  EXPECT_EQ(pipeline.wait("s").errors, 0);
  EXPECT_THAT(seen, AllOf(SizeIs(5), Each(ElementsAre("mask"))));
}

TEST(StreamPictures, ThatNobodyGivesAreRefusedBeforeTheStreamOpens) {
  Pipeline pipeline({make_masker()});
  std::vector<std::set<std::string>> seen;
  const auto open = [&] {
    pipeline.open_stream(
        {.id = "s",
         .source = make_source(1),
         .sinks = {std::make_shared<NamedSink>(std::vector<std::string>{"maks"}, seen)}});
  };
  EXPECT_THAT(open, ThrowsError<InvalidArgument>(
                        ErrorCode::invalid_argument,
                        AllOf(HasSubstr("stream s has a sink for picture \"maks\""),
                              HasSubstr("they give \"mask\""), HasSubstr("did you mean"))));
}

}  // namespace
}  // namespace vcap::test
