// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/buffered_sink.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include <nlohmann/json.hpp>

#include "support/file_size_limit.hpp"
#include "support/manual_clock.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/sanitizers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

/// An exception of a host's own sink.
struct DiskGone : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Writes, blocks or fails as the test says, and remembers what it has written.
class TestSink final : public Sink {
 public:
  void write(const FrameRecord& record) override {
    ++calls;
    gate.wait();
    if (fails && fails(record.frame.index)) throw DiskGone("the disk is gone");
    const std::lock_guard lock(mutex_);
    written_.push_back(record.frame.index);
  }
  void close() override { ++closed; }
  void allow_losses() override { losses_allowed = true; }

  std::vector<std::int64_t> written() const {
    const std::lock_guard lock(mutex_);
    return written_;
  }

  Latch gate;  ///< write() waits for it
  std::function<bool(std::int64_t)> fails{};
  std::atomic<int> calls = 0;
  int closed = 0;
  bool losses_allowed = false;

 private:
  mutable std::mutex mutex_;
  std::vector<std::int64_t> written_;
};

std::shared_ptr<TestSink> open_sink() {
  auto sink = std::make_shared<TestSink>();
  sink->gate.open();
  return sink;
}

FrameRecord numbered(std::int64_t index, std::string stream = "a") {
  FrameRecord record{.stream_id = std::move(stream)};
  record.frame.image = cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0));
  record.frame.index = index;
  return record;
}

std::vector<std::int64_t> indexes(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = first; i <= last; ++i) all.push_back(i);
  return all;
}

/// Waits, since the sink's thread needs a moment to count what it has done.
void until(const std::function<bool()>& holds) {
  yield_until("what the sink's thread does", holds);
}

std::uint64_t lost(const Sink& sink, const std::string& reason) {
  const SinkStats stats = *sink.stats();
  const auto found = stats.lost.find(reason);
  return found == stats.lost.end() ? 0 : found->second;
}

/// From one snapshot: a record must not move from queued to lost between two reads.
std::uint64_t accounted_for(const Sink& sink) {
  const SinkStats stats = *sink.stats();
  std::uint64_t sum = stats.written + stats.queued;
  for (const auto& [reason, records] : stats.lost) sum += records;
  return sum;
}

TEST(BufferedSink, HoldsOnlyThePixelsThatTheSinkUses) {
  class Naming final : public Sink {
   public:
    void write(const FrameRecord& record) override { written = record; }
    bool needs_pixels() const override { return false; }
    std::vector<std::string> pictures() const override { return {"mask", "depth"}; }

    FrameRecord written{};
  };
  const auto naming = std::make_shared<Naming>();
  FrameRecord record;
  record.frame.image = cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0));
  for (const char* name : {"mask", "other"})
    record.frame.pictures.set(name, cv::Mat(4, 4, CV_8UC1, cv::Scalar(0)));
  const auto buffered = make_buffered_sink(naming, {});
  buffered->write(record);
  buffered->close();
  EXPECT_TRUE(naming->written.frame.image.empty());
  ASSERT_EQ(naming->written.frame.pictures.size(), 1u);
  EXPECT_EQ(naming->written.frame.pictures.at("mask").data, record.frame.pictures.at("mask").data);
}

TEST(BufferedSink, ShowsTheClipsThatItsSinkHasLost) {
  class LosingClips final : public Sink {
   public:
    void write(const FrameRecord&) override {}
    std::optional<SinkStats> stats() const override {
      return SinkStats{.written = 9, .last_failure = "no room", .lost_clips = {{"missing", 2}}};
    }
  };
  const auto sink = make_buffered_sink(std::make_shared<LosingClips>());
  const SinkStats stats = *sink->stats();
  EXPECT_THAT(stats.lost_clips, ElementsAre(Pair("missing", 2)));
  EXPECT_EQ(stats.last_failure, "no room");
  EXPECT_EQ(stats.written, 0u) << "its own count";
}

TEST(BufferedSink, WritesEverythingInOrderBeforeItCloses) {
  const auto slow = std::make_shared<TestSink>();
  const auto sink = make_buffered_sink(slow);
  for (int i = 0; i < 50; ++i) sink->write(numbered(i));
  EXPECT_EQ(accounted_for(*sink), 50u);
  slow->gate.open();
  sink->close();
  EXPECT_EQ(slow->written(), indexes(0, 49));
  EXPECT_EQ(slow->closed, 1);
  EXPECT_FALSE(slow->losses_allowed);
  const SinkStats stats = *sink->stats();
  EXPECT_EQ(stats.written, 50u);
  EXPECT_EQ(stats.queued, 0u);
  EXPECT_THAT(stats.lost, IsEmpty());
  EXPECT_EQ(stats.last_failure, std::nullopt);

  sink->close();
  EXPECT_EQ(slow->closed, 1) << "close() must be idempotent";
  EXPECT_THAT([&] { sink->write(numbered(50)); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("closed already")));
}

TEST(BufferedSink, BlocksNoStreamWhenItsSinkBlocks) {
  const auto blocked = std::make_shared<TestSink>();
  const std::shared_ptr<Sink> sink = make_buffered_sink(blocked, {.queue = 8});
  std::vector<std::int64_t> others;
  const std::shared_ptr<Sink> other =
      make_callback_sink([&](const FrameRecord& record) { others.push_back(record.frame.index); });
  Pipeline pipeline({make_detector("people", "person")});
  pipeline.open_stream({.id = "a", .source = make_source(50), .sinks = {sink, other}});
  const StreamReport report = pipeline.wait("a");  // the sink still blocks

  EXPECT_EQ(report.frames, 50);
  EXPECT_EQ(report.failure, std::nullopt);
  EXPECT_EQ(others, indexes(0, 49));
  EXPECT_EQ(accounted_for(*sink), 50u);
  EXPECT_GE(lost(*sink, "full"), 41u);

  blocked->gate.open();
  sink->close();
  const std::vector<std::int64_t> written = blocked->written();
  EXPECT_EQ(written.size() + lost(*sink, "full"), 50u);
  ASSERT_GE(written.size(), 8u);
  EXPECT_EQ(std::vector(written.end() - 8, written.end()), indexes(42, 49));
}

TEST(BufferedSink, KeepsTheOldestRecordsIfTheNewestAreDropped) {
  const auto blocked = std::make_shared<TestSink>();
  const auto sink =
      make_buffered_sink(blocked, {.queue = 3, .overflow = SinkOverflowPolicy::drop_newest});
  sink->write(numbered(0));
  until([&] { return blocked->calls == 1; });
  for (int i = 1; i < 10; ++i) sink->write(numbered(i));
  EXPECT_EQ(lost(*sink, "full"), 6u);
  EXPECT_EQ(sink->stats()->queued, 4u);
  blocked->gate.open();
  sink->close();
  EXPECT_EQ(blocked->written(), indexes(0, 3));
}

TEST(BufferedSink, LosesNothingIfTheStreamWaits) {
  const auto blocked = std::make_shared<TestSink>();
  const std::shared_ptr<Sink> sink =
      make_buffered_sink(blocked, {.queue = 1, .overflow = SinkOverflowPolicy::wait});
  Pipeline pipeline({});
  pipeline.open_stream({.id = "a", .source = make_source(30), .sinks = {sink}});
  until([&] { return blocked->calls == 1; });
  blocked->gate.open();
  EXPECT_EQ(pipeline.wait("a").frames, 30);
  sink->close();
  EXPECT_EQ(blocked->written(), indexes(0, 29));
}

TEST(BufferedSink, RefusesWaitingWritersWhenItIsClosed) {
  const auto blocked = std::make_shared<TestSink>();
  const auto sink = make_buffered_sink(blocked, {.queue = 1, .overflow = SinkOverflowPolicy::wait});
  sink->write(numbered(0));
  until([&] { return blocked->calls == 1; });
  sink->write(numbered(1));
  std::thread closer([&] { sink->close(); });
  EXPECT_THAT([&] { sink->write(numbered(2)); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("closed already")));
  blocked->gate.open();
  closer.join();
  EXPECT_EQ(blocked->written(), indexes(0, 1));
}

TEST(BufferedSink, DropsQueuedRecordsIfItIsNotClosed) {
  const auto blocked = std::make_shared<TestSink>();
  auto sink = make_buffered_sink(blocked);
  const FrameRecord record = numbered(0);
  for (int i = 0; i < 4; ++i) sink->write(record);
  until([&] { return blocked->calls == 1; });
  std::thread destroyer([&] { sink.reset(); });
  // Now only this record and the one that is being written share the pixels.
  until([&] { return CV_XADD(&record.frame.image.u->refcount, 0) == 2; });
  blocked->gate.open();
  destroyer.join();
  EXPECT_EQ(blocked->written(), indexes(0, 0));
  EXPECT_EQ(blocked->closed, 0);
}

TEST(BufferedSink, EndsTheStreamsThatWriteToItWhenItFails) {
  const auto failing = open_sink();
  failing->fails = [](std::int64_t index) { return index == 3; };
  // The policy is to wait, so that record 3 is not dropped before it fails.
  const std::shared_ptr<Sink> sink =
      make_buffered_sink(failing, {.overflow = SinkOverflowPolicy::wait});
  Pipeline pipeline({});
  pipeline.open_stream({.id = "ends",
                        .source = std::make_unique<MemorySource>(MemorySource::Plan{.frames = -1}),
                        .sinks = {sink}});
  pipeline.open_stream({.id = "goes on", .source = make_source(100)});
  const StreamReport report = pipeline.wait("ends");
  EXPECT_EQ(report.failure, "the disk is gone");
  EXPECT_EQ(static_cast<std::uint64_t>(report.frames), accounted_for(*sink));
  EXPECT_EQ(pipeline.wait("goes on").frames, 100);

  EXPECT_THROW(sink->write(numbered(1000)), DiskGone);
  EXPECT_THROW(sink->close(), DiskGone);
  EXPECT_EQ(failing->closed, 1);
  EXPECT_NO_THROW(sink->close());
  EXPECT_EQ(failing->written(), indexes(0, 2));
  EXPECT_EQ(sink->stats()->last_failure, "the disk is gone");
  EXPECT_GE(lost(*sink, "failed"), 1u);
}

TEST(BufferedSink, ReportsAFailureAfterTheLastRecordWhenItIsClosed) {
  const auto failing = std::make_shared<TestSink>();
  failing->fails = [](std::int64_t index) { return index == 2; };
  const auto sink = make_buffered_sink(failing);
  for (int i = 0; i < 5; ++i) sink->write(numbered(i));
  failing->gate.open();
  EXPECT_THROW(sink->close(), DiskGone);
  EXPECT_EQ(failing->written(), indexes(0, 1));
  EXPECT_EQ(lost(*sink, "failed"), 3u);
}

TEST(BufferedSink, WakesWaitingWritersWhenItFails) {
  const auto failing = std::make_shared<TestSink>();
  failing->fails = [](std::int64_t) { return true; };
  const auto sink = make_buffered_sink(failing, {.queue = 1, .overflow = SinkOverflowPolicy::wait});
  sink->write(numbered(0));
  until([&] { return failing->calls == 1; });
  sink->write(numbered(1));
  std::thread waiting([&] { EXPECT_THROW(sink->write(numbered(2)), DiskGone); });
  failing->gate.open();
  waiting.join();
  EXPECT_EQ(lost(*sink, "failed"), 2u);
}

class SkippingSink : public testing::Test {
 protected:
  SkippingSink() {
    set_log_hook([this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      log_.emplace_back(line);
    });
  }
  ~SkippingSink() override { set_log_hook({}); }

  SinkPolicy skip() const {
    return {.failure = SinkFailurePolicy::skip, .retry_after = 5s, .clock = clock_};
  }
  std::vector<std::string> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::atomic<bool> failing_ = true;

 private:
  std::mutex mutex_;
  std::vector<std::string> log_;
};

TEST_F(SkippingSink, PausesAfterAFailureAndThenTriesAgain) {
  const auto disk = open_sink();
  disk->fails = [this](std::int64_t) { return failing_.load(); };
  const auto sink = make_buffered_sink(disk, skip());
  EXPECT_TRUE(disk->losses_allowed);
  sink->write(numbered(0));
  until([&] { return lost(*sink, "failed") == 1; });
  clock_->advance(5s - 1ns);
  sink->write(numbered(1));
  sink->write(numbered(2));
  EXPECT_EQ(lost(*sink, "failed"), 3u);
  EXPECT_EQ(disk->calls, 1) << "the sink is called during its pause";

  clock_->advance(1ns);
  sink->write(numbered(3));
  until([&] { return lost(*sink, "failed") == 4; });
  EXPECT_EQ(disk->calls, 2);
  failing_ = false;
  sink->write(numbered(4));
  EXPECT_EQ(disk->calls, 2);
  clock_->advance(5s);
  sink->write(numbered(5));
  until([&] { return log().size() == 2; });
  sink->write(numbered(6));
  sink->close();

  EXPECT_EQ(disk->written(), indexes(5, 6));
  EXPECT_EQ(disk->closed, 1);
  EXPECT_EQ(sink->stats()->written, 2u);
  EXPECT_THAT(sink->stats()->lost, ElementsAre(Pair("failed", 5)));
  EXPECT_EQ(sink->stats()->last_failure, "the disk is gone");
  EXPECT_THAT(log(), ElementsAre("stream a: a sink failed and is tried again after 5.0 s; until it "
                                 "works, it loses records: the disk is gone",
                                 "stream a: a sink works again; records that it lost: 5"));
}

TEST_F(SkippingSink, LosesQueuedRecordsWhenItFails) {
  const auto disk = std::make_shared<TestSink>();
  disk->fails = [this](std::int64_t) { return failing_.load(); };
  const auto sink = make_buffered_sink(disk, skip());
  for (int i = 0; i < 4; ++i) sink->write(numbered(i));
  disk->gate.open();
  until([&] { return lost(*sink, "failed") == 4; });
  sink->close();
  EXPECT_EQ(disk->calls, 1);
}

TEST_F(SkippingSink, TriesEveryRecordWithoutAPause) {
  const auto disk = std::make_shared<TestSink>();
  disk->fails = [](std::int64_t index) { return index % 3 != 0; };
  SinkPolicy policy = skip();
  policy.retry_after = 0s;
  const auto sink = make_buffered_sink(disk, policy);
  for (int i = 0; i < 7; ++i) sink->write(numbered(i));
  disk->gate.open();
  sink->close();
  EXPECT_THAT(disk->written(), ElementsAre(0, 3, 6));
  EXPECT_EQ(lost(*sink, "failed"), 4u);
}

TEST_F(SkippingSink, DoesNotEndItsStreams) {
  const auto disk = open_sink();
  disk->fails = [this](std::int64_t) { return failing_.load(); };
  std::vector<std::int64_t> others;
  {
    // [policy]
    vcap::Pipeline pipeline({make_detector("people", "person")});
    const std::shared_ptr<vcap::Sink> share =
        vcap::make_buffered_sink(disk, {.overflow = vcap::SinkOverflowPolicy::drop_oldest,
                                        .failure = vcap::SinkFailurePolicy::skip,
                                        .retry_after = std::chrono::seconds(10)});
    const std::shared_ptr<vcap::Sink> alarms = vcap::make_callback_sink(
        [&](const vcap::FrameRecord& record) { others.push_back(record.frame.index); });
    pipeline.open_stream({.id = "gate", .source = make_source(40), .sinks = {share, alarms}});
    const vcap::StreamReport report = pipeline.wait("gate");
    share->close();
    const vcap::SinkStats stats = *share->stats();
    for (const auto& [reason, records] : stats.lost)
      std::cout << records << " records lost to the share: " << reason << '\n';
    // [/policy]
    EXPECT_EQ(report.frames, 40);
    EXPECT_EQ(report.failure, std::nullopt);
    EXPECT_EQ(accounted_for(*share), 40u);
  }
  EXPECT_EQ(others, indexes(0, 39));
}

TEST_F(SkippingSink, KeepsTheLinesThatFitOnADiskThatWasFull) {
  const TemporaryFolder folder;
  SinkPolicy policy = skip();
  policy.retry_after = 0s;
  const auto sink = make_buffered_sink(make_json_lines_sink(folder / "frames.jsonl"), policy);
  {
    const FileSizeLimit full(1000);
    for (int i = 0; i < 40; ++i) sink->write(numbered(i));
    until([&] { return sink->stats()->queued == 0; });
  }
  sink->write(numbered(40));
  sink->close();

  std::ifstream file(folder / "frames.jsonl");
  std::vector<std::int64_t> kept;
  for (std::string line; std::getline(file, line);)
    kept.push_back(nlohmann::json::parse(line).at("frame_index"));
  EXPECT_EQ(kept.size(), sink->stats()->written);
  EXPECT_EQ(kept.front(), 0);
  EXPECT_EQ(kept.back(), 40);
  EXPECT_EQ(kept.size() + lost(*sink, "failed"), 41u);
  EXPECT_THAT(log(), SizeIs(2));
}

TEST_F(SkippingSink, SurvivesADeviceThatIsAlwaysFull) {
  const auto sink = make_buffered_sink(make_json_lines_sink("/dev/full"), skip());
  for (int i = 0; i < 5; ++i) sink->write(numbered(i));
  EXPECT_NO_THROW(sink->close());
  EXPECT_THAT(sink->stats()->lost, ElementsAre(Pair("failed", 5)));
  EXPECT_THAT(*sink->stats()->last_failure,
              AllOf(HasSubstr("/dev/full"), HasSubstr("No space left on device")));
}

TEST_F(SkippingSink, PassesOnExceptionsFromClose) {
  class Unclosable final : public Sink {
   public:
    void write(const FrameRecord&) override {}
    void close() override { throw DiskGone("no name for it"); }
  };
  const auto sink = make_buffered_sink(std::make_shared<Unclosable>(), skip());
  EXPECT_THROW(sink->close(), DiskGone);
}

TEST(SinkPolicy, NamesTheWrongField) {
  const auto refusal = [](const SinkPolicy& policy, const std::string& text) {
    EXPECT_THAT([&] { make_buffered_sink(std::make_shared<TestSink>(), policy); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(text)));
  };
  refusal({.queue = 0}, "SinkPolicy::queue: 0 is not at least 1");
  refusal({.overflow = SinkOverflowPolicy(7)}, "overflow: 7");
  refusal({.failure = SinkFailurePolicy(7)}, "failure: 7");
  refusal({.retry_after = -1ns}, "retry_after: -1 ns is not within 0 to 1 day");
  refusal({.retry_after = 25h}, "retry_after");
  EXPECT_THAT([] { make_buffered_sink(nullptr); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("is null")));
}

/// One writer of a round: a stream that writes until it is done or write() throws.
struct RandomWriter {
  std::uint64_t taken = 0;
  bool refused = false;

  void write_to(Sink& sink, ManualClock& clock, int id, std::mt19937::result_type seed) {
    std::mt19937 dice(seed);
    const int records = static_cast<int>(dice() % 30);
    for (int i = 0; i < records && !refused; ++i) {
      if (dice() % 8 == 0) std::this_thread::yield();
      if (dice() % 8 == 0) clock.advance(1ms);
      try {
        sink.write(numbered(i, std::to_string(id)));
        ++taken;
      } catch (const std::exception&) {
        refused = true;
      }
    }
  }
};

/// Fails at random; only the thread of its buffer calls write().
class RandomSink final : public Sink {
 public:
  RandomSink(std::mt19937::result_type seed, std::mt19937::result_type one_in)
      : dice_(seed), one_in_(one_in) {}
  void write(const FrameRecord& record) override {
    if (dice_() % 6 == 0) std::this_thread::yield();
    if (one_in_ > 0 && dice_() % one_in_ == 0) throw DiskGone("the disk is gone");
    const auto [last, fresh] = last_.try_emplace(record.stream_id, -1);
    EXPECT_GT(record.frame.index, last->second)
        << "records of a stream must be in order and unique";
    last->second = record.frame.index;
    ++written;
  }
  std::uint64_t written = 0;

 private:
  std::mt19937 dice_;
  const std::mt19937::result_type one_in_;
  std::map<std::string, std::int64_t> last_;
};

void play_sink_round(unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 dice(seed);
  const auto disk = std::make_shared<RandomSink>(dice(), dice() % 3 == 0 ? 0 : 2 + dice() % 12);
  const auto clock = std::make_shared<ManualClock>();
  auto sink = make_buffered_sink(
      disk, {.queue = 1 + dice() % 5,
             .overflow = static_cast<SinkOverflowPolicy>(dice() % 3),
             .failure = dice() % 3 == 0 ? SinkFailurePolicy::end_stream : SinkFailurePolicy::skip,
             .retry_after = std::chrono::milliseconds(dice() % 4),
             .clock = clock});
  std::array<RandomWriter, 3> writers;
  std::vector<std::thread> threads;
  const std::size_t count = 1 + dice() % writers.size();
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back(
        [&, i, own = dice()] { writers[i].write_to(*sink, *clock, static_cast<int>(i), own); });
  const auto close = [&sink] {
    try {
      sink->close();
    } catch (const DiskGone&) {
    }
  };
  // The sink is closed by one or two threads while streams write, after them, or never.
  const auto end = dice() % 4;
  for (unsigned closers = 0; closers < end && end < 3; ++closers) threads.emplace_back(close);
  for (std::thread& thread : threads) thread.join();
  std::uint64_t taken = 0;
  for (const RandomWriter& writer : writers) taken += writer.taken;
  EXPECT_EQ(accounted_for(*sink), taken);
  if (end == 3) close();
  if (end > 0) {
    EXPECT_EQ(sink->stats()->queued, 0u);
    EXPECT_EQ(accounted_for(*sink), taken);
    EXPECT_EQ(sink->stats()->written, disk->written);
  }
  sink.reset();
  EXPECT_LE(disk->written, taken);
}

TEST(BufferedSink, AccountsForEveryRecordInRandomRounds) {
  constexpr unsigned kSinkRounds = kUnderSanitizer ? 2000 : 5000;
  set_log_hook([](LogLevel, std::string_view) {});
  for (unsigned seed = 0; seed < kSinkRounds && !testing::Test::HasFailure(); ++seed)
    play_sink_round(seed);
  set_log_hook({});
}

}  // namespace
}  // namespace vcap::test
