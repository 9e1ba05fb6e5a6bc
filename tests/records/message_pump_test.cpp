// SPDX-License-Identifier: Apache-2.0
#include "records/message_pump.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <random>
#include <sstream>
#include <system_error>
#include <thread>

#include <nlohmann/json.hpp>

#include "support/bounded_wait.hpp"
#include "support/file_size_limit.hpp"
#include "support/manual_clock.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/records/event_sink.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Json = nlohmann::json;

/// What a sender was told, and what it does. Outlives the sender. Thread-safe.
class SentMessages {
 public:
  using Act = std::function<MessageSender::Result(std::span<const OutgoingMessage>)>;

  /// What the next calls of send() do; after them, all is delivered.
  void next(Act act) {
    const std::lock_guard lock(mutex_);
    acts_.push_back(std::move(act));
  }
  MessageSender::Result send(std::span<const OutgoingMessage> messages) {
    Act act;
    {
      const std::lock_guard lock(mutex_);
      ++calls_;
      if (!acts_.empty()) {
        act = std::move(acts_.front());
        acts_.pop_front();
      }
    }
    MessageSender::Result result{.settled = messages.size()};
    if (act) result = act(messages);
    const std::lock_guard lock(mutex_);
    received_.insert(received_.end(), messages.begin(),
                     messages.begin() + static_cast<std::ptrdiff_t>(result.settled));
    return result;
  }
  std::vector<OutgoingMessage> received() const {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> numbers;
    for (const OutgoingMessage& message : received()) numbers.push_back(message.sequence);
    return numbers;
  }
  std::size_t calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  Latch stopped{};

 private:
  mutable std::mutex mutex_;
  std::deque<Act> acts_;
  std::vector<OutgoingMessage> received_;
  std::size_t calls_ = 0;
};

class FakeSender final : public MessageSender {
 public:
  explicit FakeSender(std::shared_ptr<SentMessages> sent) : sent_(std::move(sent)) {}
  Result send(std::span<const OutgoingMessage> messages) override { return sent_->send(messages); }
  void stop() noexcept override { sent_->stopped.open(); }

 private:
  const std::shared_ptr<SentMessages> sent_;
};

class Publishing : public testing::Test {
 protected:
  Publishing() {
    set_log_hook([this](LogLevel, std::string_view text) {
      const std::lock_guard lock(mutex_);
      log_ += std::string(text) + '\n';
    });
  }
  ~Publishing() override { set_log_hook({}); }

  std::unique_ptr<Publisher> open(std::uint64_t max_bytes = 1 << 20) {
    return std::make_unique<Publisher>(MessagePump::start("test://broker", {path_, max_bytes},
                                                          std::make_unique<FakeSender>(sent_),
                                                          {.end_wait = seconds(5),
                                                           .first_pause = seconds(1),
                                                           .longest_pause = seconds(4),
                                                           .clock = clock_}));
  }
  void await_delivered(const Publisher& publisher, std::uint64_t count) {
    yield_until("messages", [&] { return publisher.stats().delivered >= count; });
  }
  std::string log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_ / "spool").string();
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const std::shared_ptr<SentMessages> sent_ = std::make_shared<SentMessages>();

 private:
  mutable std::mutex mutex_;
  std::string log_;
};

MessageSender::Result fail_after(std::size_t settled, const std::string& why = "it is away") {
  return {.settled = settled, .failure = why};
}

TEST_F(Publishing, DeliversMessagesWithTheirIdsInOrder) {
  const auto publisher = open();
  publisher->publish("gate", R"({"a":1})");
  publisher->publish("yard", "{ }");
  publisher->close();
  const auto received = sent_->received();
  ASSERT_THAT(received, SizeIs(2));
  const std::string spool = publisher->pump()->spool().id();
  EXPECT_EQ(received[0].id, spool + "-1");
  EXPECT_EQ(received[0].stream_id, "gate");
  EXPECT_EQ(Json::parse(received[0].body),
            Json({{"a", 1}, {"message", {{"spool", spool}, {"sequence", 1}}}}));
  EXPECT_EQ(Json::parse(received[1].body),
            Json({{"message", {{"spool", spool}, {"sequence", 2}}}}));
  const PublisherStats stats = publisher->stats();
  EXPECT_EQ(stats.delivered, 2);
  EXPECT_EQ(stats.waiting, 0);
  EXPECT_THAT(log(), IsEmpty());
}

TEST_F(Publishing, TriesAgainFromTheFirstThatIsNotSettledAfterPausesThatDouble) {
  std::atomic<bool> go = false;
  sent_->next([&go](auto) {
    yield_until("ten messages", [&] { return go.load(); });
    return MessageSender::Result{.failure = "it is away"};
  });
  sent_->next([](auto) { return fail_after(4); });
  for (int i = 0; i < 3; ++i) sent_->next([](auto) { return fail_after(0); });
  const auto publisher = open();
  for (int i = 0; i < 10; ++i) publisher->publish("gate", "{}");
  go = true;
  // A success within sets the pause back to the first one.
  for (const int length : {1, 1, 2, 4, 4}) {
    const seconds pause(length);
    clock_->await_sleeper(clock_->now() + pause);
    EXPECT_TRUE(publisher->stats().is_failing);
    EXPECT_EQ(publisher->stats().last_failure, "it is away");
    clock_->advance(pause);
  }
  await_delivered(*publisher, 10);
  EXPECT_THAT(sent_->numbers(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_FALSE(publisher->stats().is_failing);
  EXPECT_EQ(publisher->stats().failed_attempts, 5u);
  yield_until("a line of the log", [&] { return log().ends_with("takes messages again\n"); });
  EXPECT_THAT(log(), HasSubstr("test://broker: it is away; messages wait in " + path_));
}

TEST_F(Publishing, WaitsAsLongAsTheReceiverWants) {
  sent_->next(
      [](auto) { return MessageSender::Result{.failure = "busy", .retry_after = seconds(77)}; });
  const auto publisher = open();
  publisher->publish("gate", "{}");
  clock_->await_sleeper(clock_->now() + seconds(77));
  clock_->advance(seconds(77));
  await_delivered(*publisher, 1);
}

TEST_F(Publishing, SetsAsideWhatIsRefused) {
  sent_->next([](auto) {
    return MessageSender::Result{.settled = 1, .refused = {{0, "not \"wanted\""}}};
  });
  const auto publisher = open();
  publisher->publish("gate", R"({"a":1})");
  yield_until("a refusal", [&] { return publisher->stats().refused == 1; });
  publisher->publish("gate", R"({"a":2})");
  publisher->close();
  EXPECT_EQ(publisher->stats().delivered, 1);
  const Json refused = Json::parse(read_file(path_ + "/refused.jsonl"));
  EXPECT_EQ(refused.at("id"), publisher->pump()->spool().id() + "-1");
  EXPECT_EQ(refused.at("reason"), "not \"wanted\"");
  EXPECT_EQ(refused.at("record").at("a"), 1);
  EXPECT_THAT(log(), HasSubstr("refused message"));
}

TEST_F(Publishing, SetsAsideOnALineOfItsOwnBehindAPartOfALine) {
  std::filesystem::create_directories(path_);
  std::ofstream(path_ + "/refused.jsonl") << R"({"id":"1","record":{"a)";
  const auto publisher = open();
  for (const std::uint64_t number : {1, 2}) {
    sent_->next([](auto) {
      return MessageSender::Result{.settled = 1, .refused = {{0, "not wanted"}}};
    });
    publisher->publish("gate", Json{{"a", number}}.dump());
    yield_until("a refusal", [&] { return publisher->stats().refused == number; });
  }
  publisher->close();
  std::istringstream lines(read_file(path_ + "/refused.jsonl"));
  std::string line;
  std::getline(lines, line);
  for (const int expected : {1, 2}) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(Json::parse(line).at("record").at("a"), expected);
  }
}

TEST_F(Publishing, HoldsUpNobodyWhileASenderHangs) {
  sent_->next([this](auto) {
    sent_->stopped.wait();
    return fail_after(0);
  });
  const auto publisher = open();
  for (int i = 0; i < 1000; ++i) publisher->publish("gate", "{}");
  EXPECT_EQ(publisher->stats().waiting, 1000);
  std::jthread closing([&] { publisher->close(); });
  yield_until("the end to begin", [&] { return clock_->sleeps() > 0; });
  clock_->advance(seconds(5));
  closing.join();
  EXPECT_THAT(log(), HasSubstr("1000 messages not sent; they stay in " + path_));
  EXPECT_THAT([&] { publisher->publish("gate", "{}"); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("closed already")));
}

TEST_F(Publishing, LeavesASenderThatDoesNotReturn) {
  const auto latch = std::make_shared<Latch>();
  const auto left = std::make_shared<Latch>();
  sent_->next([latch, left](auto) {
    latch->wait();
    left->open();
    return fail_after(0);
  });
  {
    const auto publisher = open();
    publisher->publish("gate", "{}");
    yield_until("a call", [&] { return sent_->calls() == 1; });
  }
  EXPECT_THAT(log(), HasSubstr("1 message not sent"));
  EXPECT_THROW(open(), OutputError) << "its thread still has the spool";
  latch->open();
  left->wait();
}

TEST_F(Publishing, SendsAtTheNextStartWhatWasLeft) {
  for (int i = 0; i < 2; ++i) sent_->next([](auto) { return fail_after(0); });
  {
    const auto publisher = open();
    for (int i = 0; i < 3; ++i) publisher->publish("gate", "{}");
    publisher->close();
    EXPECT_EQ(publisher->stats().waiting, 3);
  }
  EXPECT_THAT(log(), HasSubstr("3 messages not sent"));
  const auto publisher = open();
  await_delivered(*publisher, 3);
  EXPECT_THAT(sent_->numbers(), ElementsAre(1, 2, 3));
}

TEST_F(Publishing, CountsWhatAFullDiskDoesNotTake) {
  const auto publisher = open();
  {
    const FileSizeLimit full(0);
    for (int i = 0; i < 3; ++i) publisher->publish("gate", "{}");
  }
  publisher->publish("gate", "{}");
  publisher->close();
  const PublisherStats stats = publisher->stats();
  EXPECT_THAT(stats.lost, ElementsAre(Pair("disk", 3)));
  EXPECT_EQ(stats.delivered, 1);
  EXPECT_THAT(log(), HasSubstr("messages are lost until then, and counted"));
}

TEST_F(Publishing, CountsWhatExceedsTheBound) {
  const auto go = std::make_shared<Latch>();
  sent_->next([go](auto) {
    go->wait();
    return fail_after(0);
  });
  const auto publisher = open(64 << 10);
  for (int i = 0; i < 3000; ++i) publisher->publish("gate", "{}");
  go->open();
  publisher->close();
  const PublisherStats stats = publisher->stats();
  EXPECT_EQ(stats.delivered + stats.lost.at("full"), 3000);
  EXPECT_EQ(sent_->numbers().back(), 3000);
  EXPECT_THAT(log(), HasSubstr("is full; the oldest messages are lost"));
}

TEST_F(Publishing, RefusesTextThatIsNoObjectAndWrongPolicies) {
  const auto publisher = open();
  for (const char* const text : {"", "7", "[1]", "{", "{}x", "{}\n", "{\"a\":}"})
    EXPECT_THAT([&] { publisher->publish("gate", text); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_json, HasSubstr("JSON object")));
  const auto start = [&](const PublishPolicy& policy) {
    MessagePump::start("test://broker", {path_ + "2", 1 << 20}, std::make_unique<FakeSender>(sent_),
                       policy);
  };
  EXPECT_THROW(start({.end_wait = seconds(-1)}), InvalidArgument);
  EXPECT_THROW(start({.first_pause = seconds(0)}), InvalidArgument);
  EXPECT_THROW(start({.longest_pause = std::chrono::hours(25)}), InvalidArgument);
}

TEST_F(Publishing, SendsTheRecordsOfFrames) {
  const std::shared_ptr<Publisher> publisher = open();
  const auto sink = make_publishing_sink(publisher);
  EXPECT_FALSE(sink->needs_pixels());
  FrameRecord record{.stream_id = "gate", .resolution = {640, 480}};
  for (record.frame.index = 0; record.frame.index < 3; ++record.frame.index) sink->write(record);
  sink->close();
  publisher->close();
  const auto received = sent_->received();
  ASSERT_THAT(received, SizeIs(3));
  EXPECT_EQ(Json::parse(received[2].body).at("frame_index"), 2);
  EXPECT_EQ(Json::parse(received[2].body).at("schema"), "vcap.frame/1");
  EXPECT_THROW(make_publishing_sink(nullptr), InvalidArgument);
}

/// Appends what it gets to a file, and fails now and then, after it may have delivered some.
class FileSender final : public MessageSender {
 public:
  explicit FileSender(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600)) {
    // A sender that was killed at the edge of a page of memory has written a part of a message. As
    // a broker does, the file takes a message as a whole or not at all.
    const std::string text = read_file(path);
    if (::ftruncate(file_, static_cast<off_t>(text.rfind('\n') + 1)) != 0)
      throw std::system_error(errno, std::generic_category(), path);
  }
  Result send(std::span<const OutgoingMessage> messages) override {
    Result result;
    for (const OutgoingMessage& message : messages) {
      const std::string line = message.body + '\n';
      if (::write(file_, line.data(), line.size()) < 0) return {.failure = "the file is full"};
      if (++count_ % 37 == 0) return {.settled = result.settled, .failure = "no answer"};
      ++result.settled;
    }
    return result;
  }
  void stop() noexcept override {}

 private:
  const int file_;
  int count_ = 0;
};

EventRules published_rules() {
  return {.zones = {{.name = "yard", .polygon = {{100, 0}, {200, 0}, {200, 200}, {100, 200}}}},
          .rules = {{.name = "comes", .what = EnterRule{.zone = "yard"}},
                    {.name = "goes", .what = LeaveRule{"yard"}}}};
}

FrameRecord published_person(double x, std::int64_t index) {
  static const Uuid track = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
  FrameRecord record{.stream_id = "gate", .resolution = {640, 480}};
  record.frame.index = index;
  record.frame.pts = index * milliseconds(100);
  record.objects.push_back({.name = "person",
                            .coords = rect_to_coords(cv::Rect2d(x - 10, 60, 20, 40)),
                            .track_id = track});
  return record;
}

/// Publishes the events of `frames` frames, or of frames for ever.
void publish_events(const TemporaryFolder& folder, std::int64_t frames) {
  const auto publisher = std::make_shared<Publisher>(
      MessagePump::start("test://file", {(folder / "spool").string(), 64 << 20},
                         std::make_unique<FileSender>((folder / "received").string()),
                         {.first_pause = milliseconds(1), .longest_pause = milliseconds(1)}));
  const auto sink = make_event_sink((folder / "events.jsonl").string(), published_rules(),
                                    {.publishers = {publisher}});
  for (std::int64_t i = 0; i != frames; ++i)
    sink->write(published_person(50 + 100 * static_cast<double>(i % 3), i));
  sink->close();
  publisher->close();
  if (publisher->stats().waiting > 0) throw std::runtime_error("messages were left");
}

/// The records of a reader that takes each sequence once.
std::vector<Json> read_once(const std::string& path) {
  std::vector<Json> records;
  std::uint64_t last = 0;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    Json record = Json::parse(line);
    const std::uint64_t sequence = record.at("message").at("sequence");
    if (sequence <= last) continue;
    EXPECT_EQ(sequence, last + 1) << "none is missing";
    last = sequence;
    record.erase("message");
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<Json> read_lines(const std::string& path) {
  std::vector<Json> records;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) records.push_back(Json::parse(line));
  return records;
}

TEST(PublishedEvents, AreThoseOfTheJournalAfterKillsAtAnyMoment) {
  const TemporaryFolder folder;
  set_log_hook([](LogLevel, std::string_view) {});
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const char* const wanted = std::getenv("VCAP_TEST_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 40;
  const std::filesystem::path journal_path = folder / "events.jsonl";
  const auto journal_size = [&journal_path] {
    std::error_code missing;
    const std::uintmax_t size = std::filesystem::file_size(journal_path, missing);
    return missing ? 0 : size;
  };
  for (int i = 0; i < kills; ++i) {
    const std::uintmax_t size = journal_size();
    std::fflush(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        publish_events(folder, -1);
      } catch (...) {
      }
      ::_exit(1);
    }
    // Each second one after its first event, so that a slow machine has events, too.
    constexpr int kLongestWait = 60'000;
    for (int ms = 0; i % 2 == 1 && ms < kLongestWait && journal_size() == size; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
  }
  publish_events(folder, 4);
  set_log_hook({});
  const std::vector<Json> journal = read_lines(journal_path.string());
  EXPECT_THAT(journal, SizeIs(testing::Gt(4u)));
  EXPECT_EQ(read_once((folder / "received").string()), journal);
  EXPECT_GT(
      std::ranges::count_if(
          journal, [](const Json& record) { return record.value("reason", "") == "interrupted"; }),
      0);
}

TEST_F(Publishing, TakesFromTheJournalWhatTheDiskKeptFromTheSpool) {
  const std::string journal = (folder_ / "events.jsonl").string();
  const std::shared_ptr<Publisher> publisher = open();
  const auto sink = make_event_sink(journal, published_rules(), {.publishers = {publisher}});
  const auto write = [&](std::int64_t i) {
    sink->write(published_person(50 + 100 * static_cast<double>(i % 3), i));
  };
  for (std::int64_t i = 0; i < 30; ++i) write(i);
  {
    // The spool's segment is longer than the journal, which has room for some more lines.
    const FileSizeLimit full(std::filesystem::file_size(journal) + 1500);
    for (std::int64_t i = 30; i < 33; ++i) write(i);
  }
  EXPECT_THAT(log(), HasSubstr("are taken from it later"));
  for (std::int64_t i = 33; i < 36; ++i) write(i);
  sink->close();
  publisher->close();
  std::vector<Json> received;
  for (const OutgoingMessage& message : sent_->received()) {
    received.push_back(Json::parse(message.body));
    received.back().erase("message");
  }
  EXPECT_EQ(received, read_lines(journal));
  EXPECT_THAT(publisher->stats().lost, IsEmpty());
}

TEST_F(Publishing, DoesNotSendTheEventsOfRunsThatDidNotPublish) {
  const std::string journal = (folder_ / "events.jsonl").string();
  {
    const auto sink = make_event_sink(journal, published_rules());
    for (std::int64_t i = 0; i < 2; ++i)
      sink->write(published_person(50 + 100 * static_cast<double>(i), i));
  }  // not closed: an event is open
  const std::shared_ptr<Publisher> publisher = open();
  make_event_sink(journal, published_rules(), {.publishers = {publisher}})->close();
  publisher->close();
  ASSERT_THAT(sent_->received(), SizeIs(1));
  EXPECT_EQ(Json::parse(sent_->received()[0].body).at("reason"), "interrupted");
  EXPECT_THROW(make_event_sink(journal, published_rules(), {.publishers = {nullptr}}),
               InvalidArgument);
}

}  // namespace
}  // namespace vcap::test
