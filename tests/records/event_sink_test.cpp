// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/event_sink.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>

#include "support/bounded_wait.hpp"
#include "support/file_size_limit.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/records/buffered_sink.hpp"
#include "vcap/records/event_record.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

EventRules sink_rules() {
  return {.zones = {{.name = "yard", .polygon = {{100, 0}, {200, 0}, {200, 200}, {100, 200}}}},
          .rules = {{.name = "comes", .what = EnterRule{.zone = "yard"}},
                    {.name = "goes", .what = LeaveRule{"yard"}}}};
}

/// A frame with a person at x, and the number of the frame.
FrameRecord person_at(double x, std::int64_t index, const std::string& stream = "gate") {
  static const Uuid track = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
  FrameRecord record{.stream_id = stream, .resolution = {640, 480}};
  record.frame.index = index;
  record.frame.pts = index * milliseconds(100);
  record.objects.push_back({.name = "person",
                            .coords = rect_to_coords(cv::Rect2d(x - 10, 60, 20, 40)),
                            .track_id = track});
  return record;
}

/// "begin enter", "end enter left" for each record of a journal.
std::vector<std::string> journal_texts(const std::string& path) {
  std::vector<std::string> texts;
  for (const EventRecord& record : read_event_journal(path).records) {
    std::string text =
        std::string(to_string(record.phase)) + ' ' + std::string(to_string(record.event.kind));
    if (record.event.reason) text += ' ' + std::string(to_string(*record.event.reason));
    texts.push_back(text);
  }
  return texts;
}

/// Each id has one begin, and after it one end.
void expect_whole_journal(const std::string& path) {
  const EventJournal journal = read_event_journal(path);
  EXPECT_FALSE(journal.is_torn);
  EXPECT_THAT(journal.damaged_lines, IsEmpty());
  EXPECT_THAT(journal.open(), IsEmpty());
  std::map<Uuid, int> phases;
  for (const EventRecord& record : journal.records) {
    int& phase = phases[record.event.id];
    EXPECT_EQ(phase, record.phase == EventChange::Phase::begin ? 0 : 1)
        << record.event.id.to_string();
    ++phase;
  }
  for (const auto& [id, phase] : phases) EXPECT_EQ(phase, 2) << id.to_string();
}

class EventSink : public testing::Test {
 protected:
  EventSink() {
    set_log_hook([this](LogLevel, std::string_view text) { log_ += std::string(text) + '\n'; });
  }
  ~EventSink() override { set_log_hook({}); }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_ / "events.jsonl").string();
  std::string log_;
};

TEST_F(EventSink, WritesTheBeginsAndEndsAsTheyCome) {
  const auto sink = make_event_sink(path_, sink_rules());
  sink->write(person_at(50, 0));
  EXPECT_THAT(journal_texts(path_), IsEmpty());
  sink->write(person_at(150, 1));
  EXPECT_THAT(journal_texts(path_), ElementsAre("begin enter"));
  sink->write(person_at(250, 2));
  EXPECT_THAT(journal_texts(path_),
              ElementsAre("begin enter", "end enter left", "begin leave", "end leave momentary"));
  sink->close();
  expect_whole_journal(path_);
  EXPECT_FALSE(sink->needs_pixels());
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(EventSink, WritesTheWholeEventWithItsEnd) {
  const auto sink = make_event_sink(path_, sink_rules());
  for (int i = 0; i < 3; ++i) sink->write(person_at(50 + 100 * i, i));
  std::ifstream file(path_);
  std::string line;
  std::getline(file, line);
  std::getline(file, line);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json.at("schema"), "vcap.event/1");
  EXPECT_EQ(json.at("phase"), "end");
  EXPECT_EQ(json.at("stream_id"), "gate");
  EXPECT_EQ(json.at("rule"), "comes");
  EXPECT_EQ(json.at("zone"), "yard");
  EXPECT_EQ(json.at("object"), "person");
  EXPECT_EQ(json.at("track_id"), "f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
  EXPECT_EQ(json.at("bbox"), nlohmann::json::parse(R"({"x":140,"y":60,"w":20,"h":40})"));
  EXPECT_EQ(json.at("begin"), nlohmann::json::parse(R"({"frame_index":1,"pts_ns":100000000})"));
  EXPECT_EQ(json.at("end"), nlohmann::json::parse(R"({"frame_index":2,"pts_ns":200000000})"));
  EXPECT_EQ(json.at("reason"), "left");
}

TEST_F(EventSink, EndsWhatIsOpenWhenItIsClosed) {
  const auto sink = make_event_sink(path_, sink_rules());
  sink->write(person_at(50, 0));
  sink->write(person_at(150, 1));
  sink->close();
  sink->close();
  EXPECT_THAT(journal_texts(path_), ElementsAre("begin enter", "end enter stream_end"));
  EXPECT_THAT([&] { sink->write(person_at(50, 3)); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("is closed already")));
}

TEST_F(EventSink, EndsWhatAnEarlierProcessLeftOpenAsInterrupted) {
  for (int i = 0; i < 3; ++i) {  // not closed
    const auto sink = make_event_sink(path_, sink_rules());
    sink->write(person_at(50, 0));
    sink->write(person_at(150, 1));
  }
  EXPECT_THAT(log_, HasSubstr("1 open event ended now, as interrupted"));
  make_event_sink(path_, sink_rules())->close();
  make_event_sink(path_, sink_rules())->close();
  EXPECT_THAT(journal_texts(path_),
              ElementsAre("begin enter", "end enter interrupted", "begin enter",
                          "end enter interrupted", "begin enter", "end enter interrupted"));
  expect_whole_journal(path_);
  for (const EventRecord& record : read_event_journal(path_).records)
    EXPECT_FALSE(record.event.end);
}

TEST_F(EventSink, CutsOffEveryPartOfALastLine) {
  {
    const auto sink = make_event_sink(path_, sink_rules());
    for (int i = 0; i < 3; ++i) sink->write(person_at(50 + 100 * i, i));
    sink->close();
  }
  const std::string whole = read_file(path_);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    folder_.write("events.jsonl", whole.substr(0, size));
    make_event_sink(path_, sink_rules())->close();
    expect_whole_journal(path_);
    const std::string repaired = read_file(path_);
    const std::size_t kept = size == 0 ? 0 : whole.rfind('\n', size - 1) + 1;
    ASSERT_TRUE(repaired.starts_with(whole.substr(0, kept))) << size;
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "cut after " << size << " bytes";
  }
}

TEST_F(EventSink, KeepsDamagedLinesAndDoesNotUseThem) {
  {
    const auto sink = make_event_sink(path_, sink_rules());
    sink->write(person_at(50, 0));
    sink->write(person_at(150, 1));
  }
  std::ofstream(path_, std::ios::app) << "{\"schema\":\n" << std::string(5, '\0') << "\n{}\n";
  make_event_sink(path_, sink_rules())->close();
  const EventJournal journal = read_event_journal(path_);
  EXPECT_THAT(journal.damaged_lines, ElementsAre(2, 3, 4));
  EXPECT_THAT(journal_texts(path_), ElementsAre("begin enter", "end enter interrupted"));
  EXPECT_THAT(log_, HasSubstr("3 lines damaged, kept and not used"));
}

TEST_F(EventSink, RefusesFilesThatAreNoJournals) {
  const auto expect_refused = [&](const std::string& path, const std::string& why) {
    EXPECT_THAT(
        [&] { make_event_sink(path, sink_rules()); },
        ThrowsError<OutputError>(ErrorCode::output_open, AllOf(HasSubstr(path), HasSubstr(why))));
  };
  const std::string text = folder_.write("notes.txt", "hello\nworld\n").string();
  expect_refused(text, "no line that is an event record");
  EXPECT_EQ(read_file(text), "hello\nworld\n");
  const std::string bytes = folder_.write("video.mp4", std::string(100, 'x')).string();
  expect_refused(bytes, "is not an event journal");
  EXPECT_EQ(read_file(bytes), std::string(100, 'x'));
  expect_refused(folder_.path().string(), "is a folder");
  expect_refused("/dev/null", "is not a regular file");
  expect_refused("-", "standard output");
  expect_refused((folder_ / "none" / "a.jsonl").string(), "its folder does not exist");
}

TEST_F(EventSink, RefusesAJournalThatAnotherSinkWrites) {
  const auto sink = make_event_sink(path_, sink_rules());
  EXPECT_THAT([&] { make_event_sink(path_, sink_rules()); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("another run or sink")));
}

TEST_F(EventSink, RefusesWrongRulesAndSettingsAndMakesNoFile) {
  EventRules wrong = sink_rules();
  wrong.zones.clear();
  EXPECT_THROW(make_event_sink(path_, wrong), InvalidArgument);
  EXPECT_THROW(make_event_sink(path_, sink_rules(), {.rules_of_stream = {{"a", wrong}}}),
               InvalidArgument);
  EXPECT_THROW(make_event_sink(path_, sink_rules(), {.snapshot_quality = 0}), InvalidArgument);
  EXPECT_THAT([&] { make_event_sink(path_, sink_rules(), {.snapshots = path_ + "/x"}); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("create it first")));
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(EventSink, KeepsStreamsApartAndGivesThemTheirOwnRules) {
  EventRules other = sink_rules();
  other.rules.resize(1);
  other.rules[0].name = "other";
  const auto sink = make_event_sink(path_, sink_rules(), {.rules_of_stream = {{"b", other}}});
  for (int i = 0; i < 3; ++i)
    for (const char* const stream : {"a", "b"}) sink->write(person_at(50 + 100 * i, i, stream));
  sink->close();
  std::multiset<std::string> seen;
  for (const EventRecord& record : read_event_journal(path_).records)
    seen.insert(record.stream_id + ' ' + record.event.rule);
  EXPECT_THAT(seen, testing::UnorderedElementsAre("a comes", "a comes", "a goes", "a goes",
                                                  "b other", "b other"));
}

TEST_F(EventSink, TakesStreamsAtOnce) {
  const auto sink = make_event_sink(path_, sink_rules());
  {
    std::vector<std::jthread> threads;
    for (int stream = 0; stream < 4; ++stream)
      threads.emplace_back([&sink, stream] {
        for (int i = 0; i < 300; ++i)
          sink->write(person_at(50 + 100 * (i % 3), i, "stream " + std::to_string(stream)));
      });
  }
  sink->close();
  expect_whole_journal(path_);
  EXPECT_THAT(read_event_journal(path_).records, SizeIs(4 * 100 * 4));
}

TEST_F(EventSink, StoresASnapshotOfTheFrameOfTheBegin) {
  const std::string pictures = (folder_ / "pictures").string();
  std::filesystem::create_directory(pictures);
  const auto sink = make_event_sink(path_, sink_rules(), {.snapshots = pictures});
  EXPECT_TRUE(sink->needs_pixels());
  for (int i = 0; i < 3; ++i) {
    FrameRecord record = person_at(50 + 100 * i, i);
    record.frame.image = cv::Mat(480, 640, CV_8UC3, cv::Scalar::all(50 * i));
    sink->write(record);
  }
  sink->close();
  const auto records = read_event_journal(path_).records;
  ASSERT_THAT(records, SizeIs(4));
  for (const EventRecord& record : records) {
    EXPECT_EQ(record.snapshot, record.event.id.to_string() + ".jpg");
    const cv::Mat image = cv::imread(pictures + '/' + record.snapshot);
    EXPECT_EQ(image.size(), cv::Size(640, 480));
    EXPECT_NEAR(cv::mean(image)[0], 50.0 * static_cast<double>(record.event.begin.frame_index), 2);
  }
}

TEST_F(EventSink, ThrowsIfASnapshotCannotBeWrittenUnlessLossesAreAllowed) {
  const std::string pictures = (folder_ / "pictures").string();
  std::filesystem::create_directory(pictures);
  FrameRecord record = person_at(150, 1);
  record.frame.image = cv::Mat(480, 640, CV_8UC3, cv::Scalar::all(50));
  for (const bool losses_allowed : {false, true}) {
    std::filesystem::create_directory(pictures);
    const auto sink = make_event_sink(path_, sink_rules(), {.snapshots = pictures});
    if (losses_allowed) sink->allow_losses();
    sink->write(person_at(50, 0));
    std::filesystem::remove(pictures);
    if (losses_allowed) {
      sink->write(record);
      EXPECT_THAT(log_, HasSubstr("recorded without a snapshot"));
    } else {
      EXPECT_THAT([&] { sink->write(record); },
                  ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr(".jpg")));
    }
    sink->close();
    expect_whole_journal(path_);
  }
  EXPECT_THAT(journal_texts(path_), SizeIs(4));
}

TEST_F(EventSink, WritesLaterWhatAFullDiskDidNotTake) {
  for (rlim_t limit = 0; limit < 1500; limit += 50) {
    std::filesystem::remove(path_);
    const auto sink = make_event_sink(path_, sink_rules());
    int failures = 0;
    {
      const FileSizeLimit full(limit);
      for (int i = 0; i < 6; ++i) {
        try {
          sink->write(person_at(50 + 100 * (i % 3), i));
        } catch (const OutputError& error) {
          EXPECT_EQ(error.code(), ErrorCode::output_write);
          EXPECT_THAT(error.what(), AllOf(HasSubstr(path_), HasSubstr("free some space")));
          ++failures;
        }
        const EventJournal journal = read_event_journal(path_);
        EXPECT_FALSE(journal.is_torn);
        EXPECT_THAT(journal.damaged_lines, IsEmpty());
      }
    }
    EXPECT_GT(failures, 0);
    sink->close();
    expect_whole_journal(path_);
    EXPECT_THAT(journal_texts(path_), SizeIs(8)) << "nothing is lost, at a limit of " << limit;
  }
}

TEST_F(EventSink, LeavesNothingOpenIfTheDiskStaysFull) {
  {
    const auto sink = make_event_sink(path_, sink_rules());
    const FileSizeLimit full(700);
    for (int i = 0; i < 6; ++i) {
      try {
        sink->write(person_at(50 + 100 * (i % 3), i));
      } catch (const OutputError&) {
      }
    }
    EXPECT_THROW(sink->close(), OutputError);
  }
  make_event_sink(path_, sink_rules())->close();
  expect_whole_journal(path_);
}

TEST_F(EventSink, WorksBehindABufferThatSkipsFailures) {
  std::shared_ptr<Sink> events = make_event_sink(path_, sink_rules());
  const auto sink = make_buffered_sink(events, {.overflow = SinkOverflowPolicy::wait,
                                                .failure = SinkFailurePolicy::skip,
                                                .retry_after = milliseconds(0)});
  for (int i = 0; i < 3; ++i) sink->write(person_at(50 + 100 * i, i));
  sink->close();
  expect_whole_journal(path_);
  EXPECT_THAT(journal_texts(path_), SizeIs(4));
}

TEST(EventRecord, ReadsBackWhatIsWritten) {
  const Uuid id = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
  for (const EventKind kind : {EventKind::enter, EventKind::cross, EventKind::count,
                               EventKind::attribute, EventKind::stay, EventKind::leave}) {
    EventRecord record{.stream_id = "s", .event = {.id = id, .kind = kind, .rule = "r"}};
    record.event.begin = {3, milliseconds(9)};
    EXPECT_EQ(nlohmann::json(record).get<EventRecord>(), record);
    Event& event = record.event;
    event.zone = "z";
    event.line = "l";
    event.direction = "in";
    event.count = 4;
    event.track_id = id;
    event.object = "person";
    event.bbox = BoundingBox{1, 2, 3, 4};
    event.confidence = 0.5;
    if (kind == EventKind::attribute) {
      event.category = "colour";
      event.from = "";
      event.to = "red";
    }
    event.since = EventMoment{1, milliseconds(1)};
    event.end = EventMoment{5, milliseconds(10)};
    event.reason = EventEnd::track_lost;
    record.phase = EventChange::Phase::end;
    record.snapshot = "a.jpg";
    EXPECT_EQ(nlohmann::json(record).get<EventRecord>(), record);
  }
}

TEST(EventRecord, RefusesWrongFields) {
  EventRecord record{.stream_id = "s", .event = {.rule = "r"}};
  record.event.id = Uuid::random();
  const nlohmann::json valid = record;
  const auto expect_refused = [&](const char* key, const nlohmann::json& value, const char* why) {
    nlohmann::json json = valid;
    json[key] = value;
    EXPECT_THAT([&] { (void)json.get<EventRecord>(); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_json, HasSubstr(why)));
  };
  expect_refused("schema", "vcap.event/2", "vcap.event/1");
  expect_refused("id", "7", "/id: a UUID is needed");
  expect_refused("kind", "enters", "\"enter\", \"leave\"");
  expect_refused("phase", "middle", "\"begin\", \"end\"");
  expect_refused("phase", "end", "an end has no \"reason\"");
  expect_refused("reason", "left", "a begin has a \"reason\"");
  expect_refused("begin", 7, "/begin: an object is needed");
  expect_refused("confidence", "x", "/confidence");
}

TEST(EventJournal, ThatCannotBeReadIsNamed) {
  EXPECT_THAT([] { read_event_journal("/nowhere/events.jsonl"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("/nowhere/events.jsonl cannot be read")));
  EXPECT_THAT([] { read_event_rules("/nowhere/rules.json"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("/nowhere/rules.json cannot be read")));
}

TEST(EventRulesFile, IsNamedWithItsFault) {
  const TemporaryFolder folder;
  const std::string path = folder.write("rules.json", R"({"schema":1,"schema":2})").string();
  EXPECT_THAT([&] { read_event_rules(path); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_json,
                                           AllOf(HasSubstr(path), HasSubstr("occurs twice"))));
}

/// By default some dozens of kills; tests/long.sh kills asks for more.
int wanted_event_kills() {
  const char* const wanted = std::getenv("VCAP_TEST_KILLS");
  return wanted != nullptr ? std::atoi(wanted) : 60;
}

/// Writes events as fast as it can, until it is killed.
[[noreturn]] void write_events_for_ever(const std::string& path, unsigned round) {
  try {
    const auto sink = make_event_sink(path, sink_rules());
    for (std::int64_t i = 0;; ++i)
      for (const char* const stream : {"a", "b", "c"})
        sink->write(person_at(50 + 100 * static_cast<double>((i + round) % 3), i, stream));
  } catch (...) {
    ::_exit(1);
  }
}

std::uintmax_t size_of(const std::string& path) {
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  return missing ? 0 : size;
}

/// Waits until another process has written that many bytes.
void await_size(const std::string& path, std::uintmax_t size) {
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  while (size_of(path) < size) {
    if (std::chrono::steady_clock::now() > end) fail_wait("bytes in " + path);
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

TEST(KilledEventSink, HasOneBeginAndOneEndOfEachEventAfterEveryRestart) {
  const TemporaryFolder folder;
  const std::string path = (folder / "events.jsonl").string();
  set_log_hook([](LogLevel, std::string_view) {});
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::size_t interrupted = 0, before = 0;
  const int kills = wanted_event_kills();
  for (int i = 0; i < kills; ++i) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_events_for_ever(path, static_cast<unsigned>(i));
    // Often while it opens the journal, mostly while it writes.
    if (i % 4 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    else
      await_size(path, size_of(path) + random() % 8000);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed: " << status;
    if (i % 3 != 2) continue;  // mostly, the next child repairs it
    if (std::filesystem::exists(path)) make_event_sink(path, sink_rules())->close();
    expect_whole_journal(path);
    ASSERT_FALSE(HasFailure()) << "kill " << i;
  }
  for (const EventRecord& record : read_event_journal(path).records) {
    interrupted += record.event.reason == EventEnd::interrupted ? 1 : 0;
    ++before;
  }
  set_log_hook({});
  EXPECT_GT(interrupted, 0u);
  EXPECT_GT(before, 100u);
}

}  // namespace
}  // namespace vcap::test
