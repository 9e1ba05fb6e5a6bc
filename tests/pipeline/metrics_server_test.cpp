// SPDX-License-Identifier: Apache-2.0
#include "vcap/pipeline/metrics_server.hpp"
#include "support/isolated_capsule.hpp"

#include <gmock/gmock.h>
#include <signal.h>

#include <atomic>
#include <cmath>
#include <iostream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "records/message_pump.hpp"
#include "support/http_get.hpp"
#include "support/manual_clock.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/version.hpp"
#include "vcap/capsule/base_backend.hpp"
#include "vcap/records/buffered_sink.hpp"
#include "vcap/records/publisher.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using Labels = std::map<std::string, std::string>;

/// An answer as a scraper reads it: numbers by name and labels.
class Scrape {
 public:
  explicit Scrape(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      static const std::regex comment(R"(# (HELP|TYPE) [a-z_]+ .+)");
      if (std::regex_match(line, comment)) continue;
      if (!add(line)) ADD_FAILURE() << "not a line of Prometheus's text format: " << line;
    }
  }

  std::optional<double> find(const std::string& name, const Labels& labels = {}) const {
    const auto found = numbers_.find({name, labels});
    return found != numbers_.end() ? std::optional(found->second) : std::nullopt;
  }
  double at(const std::string& name, const Labels& labels = {}) const {
    const auto found = find(name, labels);
    if (!found) ADD_FAILURE() << "there is no " << name << ' ' << testing::PrintToString(labels);
    return found.value_or(NAN);
  }
  const std::map<std::pair<std::string, Labels>, double>& numbers() const { return numbers_; }

 private:
  bool add(const std::string& line) {
    static const std::regex form(
        R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? (\S+))");
    static const std::regex label(R"re(([a-z_]+)="((?:[^"\\]|\\[\\"n])*)"(,|$))re");
    std::smatch parts;
    if (!std::regex_match(line, parts, form)) return false;
    Labels labels;
    std::string rest = parts[3];
    for (std::smatch one; !rest.empty(); rest = one.suffix()) {
      if (!std::regex_search(rest, one, label, std::regex_constants::match_continuous))
        return false;
      labels[one[1]] = unescaped(one[2]);
    }
    const std::string value = parts[4];
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (*end != '\0') return false;
    EXPECT_TRUE(numbers_.emplace(std::pair(parts[1].str(), labels), number).second)
        << "twice: " << line;
    return true;
  }

  static std::string unescaped(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\') ++i;
      plain += i > 0 && text[i - 1] == '\\' && text[i] == 'n' ? '\n' : text[i];
    }
    return plain;
  }

  std::map<std::pair<std::string, Labels>, double> numbers_;
};

Scrape scrape(const MetricsServer& server) {
  const HttpAnswer answer = http_get(server.port(), "/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, ContainsRegex("Content-Type: text/plain"));
  return Scrape(answer.body);
}

/// Each bucket includes the counts of the lower ones, and the last one counts everything.
void expect_histogram(const Scrape& scrape, const std::string& name, const Labels& labels,
                      std::uint64_t count) {
  std::map<double, double> buckets;
  for (const auto& [key, number] : scrape.numbers()) {
    Labels others = key.second;
    if (key.first != name + "_bucket") continue;
    const std::string bound = others.at("le");
    others.erase("le");
    if (others == labels) buckets[bound == "+Inf" ? INFINITY : std::stod(bound)] = number;
  }
  ASSERT_GT(buckets.size(), 5u) << name;
  double before = 0;
  for (const auto& [bound, number] : buckets) {
    EXPECT_GE(number, before) << name << " at " << bound;
    before = number;
  }
  EXPECT_EQ(buckets.rbegin()->first, INFINITY);
  EXPECT_EQ(buckets.rbegin()->second, static_cast<double>(count));
  EXPECT_EQ(scrape.at(name + "_count", labels), static_cast<double>(count));
  EXPECT_GE(scrape.at(name + "_sum", labels), 0);
}

class Batching final : public BaseBackend<int, int> {
 public:
  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    if (frame.index % 5 == 4) throw std::runtime_error("fifth");
    predict(0);
    return DetectionNodes::all();
  }
  std::vector<int> batch_predict(std::span<const int> inputs) override {
    return {inputs.begin(), inputs.end()};
  }
};

class BatchingCapsule final : public BaseCapsule {
 public:
  std::unique_ptr<Backend> load_backend(const CapsuleFiles&, const std::string&) override {
    return std::make_unique<Batching>();
  }
};

std::shared_ptr<Capsule> make_batching(const std::string& name) {
  CapsuleInfo info = detector_info(name, "number");
  info.version = 3;
  return test::kept_capsule_of(info, std::make_unique<BatchingCapsule>(),
                               Capsule::Setup{.devices = {"CPU:0"}});
}

constexpr const char* kLoopback = "127.0.0.1:0";

TEST(MetricsServer, ServesTheValuesOfStats) {
  Pipeline pipeline({make_batching("doubler")});
  const MetricsServer server(pipeline, kLoopback);
  const std::shared_ptr<Sink> disk = make_buffered_sink(make_callback_sink([](const auto&) {}));
  FrameFeed feed;
  pipeline.open_stream({.id = "gate",
                        .source = feed.source(),
                        .sinks = {make_callback_sink([](const auto&) {}), disk},
                        .keep_every = 2,
                        .pull = true});
  for (int i = 0; i < 20; ++i) {
    feed.push(cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0)));
    if (i % 2 == 0) pipeline.next("gate");
  }
  disk->close();
  // The last frame, which is skipped, may not have been read yet.
  yield_until("the last frame", [&] { return pipeline.stats().streams[0].read >= 20; });
  const Scrape scraped = scrape(server);
  const PipelineStats stats = pipeline.stats();

  const Labels gate{{"stream", "gate"}};
  EXPECT_EQ(scraped.at("vcap_stream_frames_read_total", gate), 20);
  EXPECT_EQ(scraped.at("vcap_stream_frames_recorded_total", gate), 10);
  EXPECT_EQ(scraped.at("vcap_stream_broken_pictures_total", gate), 0);
  EXPECT_EQ(
      scraped.at("vcap_stream_frames_dropped_total", {{"stream", "gate"}, {"reason", "skipped"}}),
      10);
  EXPECT_EQ(scraped.at("vcap_stream_errors_total", gate), 2);
  EXPECT_EQ(scraped.at("vcap_stream_overdue_total", gate), 0);
  EXPECT_EQ(scraped.at("vcap_stream_frames_in_flight", gate), 0);
  EXPECT_EQ(scraped.at("vcap_stream_frames_waiting", gate), 0);
  EXPECT_GT(scraped.at("vcap_stream_frames_per_second", gate), 0);
  expect_histogram(scraped, "vcap_stream_latency_seconds", gate, 10);
  EXPECT_NEAR(scraped.at("vcap_stream_latency_seconds_sum", gate),
              stats.streams[0].latency_ns.mean() * 10 / 1e9, 1e-6);

  EXPECT_EQ(scraped.find("vcap_sink_records_written_total", {{"stream", "gate"}, {"sink", "1"}}),
            std::nullopt)
      << "this sink does not count";
  EXPECT_EQ(scraped.at("vcap_sink_records_written_total", {{"stream", "gate"}, {"sink", "2"}}), 10);
  EXPECT_EQ(scraped.at("vcap_sink_records_queued", {{"stream", "gate"}, {"sink", "2"}}), 0);
  const nlohmann::json sinks = nlohmann::json(stats)["streams"][0]["sinks"];
  EXPECT_TRUE(sinks[0].is_null());
  EXPECT_EQ(sinks[1]["written"], 10);

  const Labels doubler{{"capsule", "doubler"}, {"version", "3"}};
  EXPECT_EQ(scraped.at("vcap_capsule_calls_total", doubler), 10);
  EXPECT_EQ(scraped.at("vcap_capsule_failures_total", doubler), 2);
  EXPECT_EQ(scraped.at("vcap_capsule_quarantined", doubler), 0);
  expect_histogram(scraped, "vcap_capsule_call_seconds", doubler, 10);
  Labels on_cpu = doubler;
  on_cpu["device"] = "CPU:0";
  EXPECT_EQ(scraped.at("vcap_backend_calls_total", on_cpu), 10);
  EXPECT_EQ(scraped.at("vcap_backend_calls_in_progress", on_cpu), 0);
  EXPECT_EQ(scraped.at("vcap_backend_failures_total", on_cpu), 2);
  expect_histogram(scraped, "vcap_backend_call_seconds", on_cpu, 10);
  EXPECT_EQ(scraped.at("vcap_backend_queued", on_cpu), 0);
  expect_histogram(scraped, "vcap_batch_size", on_cpu, 8);
  Labels ones = on_cpu;
  ones["le"] = "1";
  EXPECT_EQ(scraped.at("vcap_batch_size_bucket", ones), 8);
  expect_histogram(scraped, "vcap_batch_predict_seconds", on_cpu, 8);
  EXPECT_EQ(scraped.at("vcap_device_calls_total", {{"device", "CPU:0"}}), 10);
  EXPECT_EQ(scraped.at("vcap_device_failures_total", {{"device", "CPU:0"}}), 2);
  expect_histogram(scraped, "vcap_device_call_seconds", {{"device", "CPU:0"}}, 10);
  EXPECT_EQ(scraped.at("vcap_device_batches_total", {{"device", "CPU:0"}}), 8);

  EXPECT_EQ(scraped.at("vcap_build_info", {{"version", std::string(version())}}), 1);
  EXPECT_EQ(scraped.at("vcap_workers"), static_cast<double>(stats.workers));
  EXPECT_GT(scraped.at("vcap_uptime_seconds"), 0);
  EXPECT_GT(scraped.at("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(scraped.at("process_open_fds"), 3);
  EXPECT_GT(scraped.at("process_threads"), 3);
  feed.end();
}

/// A camera that is lost.
class LostSource final : public MemorySource {
 public:
  LostSource() : MemorySource({.frames = -1, .live = true}) {}
  std::optional<SourceState> state() const override {
    return SourceState{.connection = SourceState::Connection::reconnecting,
                       .lasts = std::chrono::milliseconds(2500),
                       .losses = 3,
                       .attempts = 2,
                       .last_failure = "a cable"};
  }
};

TEST(MetricsServer, ShowsWhichCamerasAreConnected) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback);
  pipeline.open_stream({.id = "door", .source = std::make_unique<LostSource>()});
  FrameFeed feed;
  pipeline.open_stream({.id = "gate", .source = feed.source()});
  const Scrape scraped = scrape(server);
  EXPECT_EQ(scraped.at("vcap_stream_connected", {{"stream", "door"}}), 0);
  EXPECT_EQ(scraped.at("vcap_stream_connection_losses_total", {{"stream", "door"}}), 3);
  EXPECT_FALSE(scraped.find("vcap_stream_connected", {{"stream", "gate"}}));
  const nlohmann::json streams = nlohmann::json(pipeline.stats())["streams"];
  EXPECT_EQ(streams[0]["source_state"], nlohmann::json({{"connection", "reconnecting"},
                                                        {"lasts_s", 2.5},
                                                        {"losses", 3},
                                                        {"attempts", 2},
                                                        {"last_failure", "a cable"}}));
  EXPECT_FALSE(streams[1].contains("source_state"));
  feed.end();
}

TEST(MetricsServer, StartsInThreeLines) {
  // [serve]
  vcap::Pipeline pipeline({make_detector("people", "person")});
  const vcap::MetricsServer metrics(pipeline, "127.0.0.1:0");  // 0: any port that is free
  std::cout << "metrics are at http://127.0.0.1:" << metrics.port() << "/metrics\n";

  pipeline.open_stream({.id = "gate", .source = make_source(40)});
  const vcap::PipelineStats stats = pipeline.stats();
  for (const vcap::StreamStats& stream : stats.streams)
    std::cout << stream.id << ": " << stream.frames_per_second << " frames/s, half of them within "
              << stream.latency_ns.quantile(0.5) / 1000 << " us\n";
  // [/serve]
  EXPECT_TRUE(scrape(metrics).find("vcap_stream_frames_read_total", {{"stream", "gate"}}));
}

TEST(MetricsServer, CountsDropsAndLossesByReason) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback);
  const std::shared_ptr<Sink> broken = make_buffered_sink(
      make_callback_sink([](const FrameRecord&) { throw std::runtime_error("no"); }),
      {.failure = SinkFailurePolicy::skip});
  FrameFeed feed;
  pipeline.open_stream({.id = "gate", .source = feed.source(), .sinks = {broken}, .pull = true});
  for (int i = 0; i < 3; ++i) {
    feed.push(cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0)));
    pipeline.next("gate");
  }
  broken->close();
  EXPECT_EQ(scrape(server).at("vcap_sink_records_lost_total",
                              {{"stream", "gate"}, {"sink", "1"}, {"reason", "failed"}}),
            3);
  feed.end();
}

TEST(MetricsServer, CountsLostClipsOfEventsByReason) {
  class LosingClips final : public Sink {
   public:
    void write(const FrameRecord&) override {}
    std::optional<SinkStats> stats() const override {
      return SinkStats{.lost_clips = {{"incomplete", 1}, {"missing", 2}}};
    }
  };
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback);
  FrameFeed feed;
  pipeline.open_stream(
      {.id = "gate", .source = feed.source(), .sinks = {std::make_shared<LosingClips>()}});
  const Scrape scraped = scrape(server);
  Labels labels{{"stream", "gate"}, {"sink", "1"}, {"reason", "incomplete"}};
  EXPECT_EQ(scraped.at("vcap_sink_clips_lost_total", labels), 1);
  labels["reason"] = "missing";
  EXPECT_EQ(scraped.at("vcap_sink_clips_lost_total", labels), 2);
  const nlohmann::json stats = pipeline.stats();
  EXPECT_EQ(stats["streams"][0]["sinks"][0]["lost_clips"],
            nlohmann::json({{"incomplete", 1}, {"missing", 2}}));
  feed.end();
}

/// Delivers the first message, is refused the second, and sends no other.
class StuckSender final : public MessageSender {
 public:
  Result send(std::span<const OutgoingMessage> messages) override {
    Result result;
    for (const OutgoingMessage& message : messages) {
      if (message.sequence > 2) {
        result.failure = "it is away";
        break;
      }
      if (message.sequence == 2) result.refused.push_back({result.settled, "it is wrong"});
      ++result.settled;
    }
    return result;
  }
  void stop() noexcept override {}
};

TEST(MetricsServer, ServesTheCountsOfPublishers) {
  const TemporaryFolder folder;
  auto publisher = std::make_shared<Publisher>(MessagePump::start(
      "test://broker", {.folder = folder / "spool", .max_bytes = 1 << 16},
      std::make_unique<StuckSender>(), {.clock = std::make_shared<ManualClock>()}));
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback, {}, {{"alarms", publisher}});
  for (int i = 0; i < 3; ++i) publisher->publish("gate", "{}");
  yield_until("a failed attempt", [&] { return publisher->stats().failed_attempts > 0; });
  publisher->publish("gate", R"({"text":")" + std::string(1 << 15, 'x') + R"("})");

  const Scrape scraped = scrape(server);
  const Labels alarms{{"publisher", "alarms"}};
  EXPECT_EQ(scraped.at("vcap_publisher_messages_delivered_total", alarms), 1);
  EXPECT_EQ(scraped.at("vcap_publisher_messages_refused_total", alarms), 1);
  EXPECT_EQ(scraped.at("vcap_publisher_messages_waiting", alarms), 1);
  EXPECT_EQ(scraped.at("vcap_publisher_messages_lost_total",
                       {{"publisher", "alarms"}, {"reason", "too large"}}),
            1);
  EXPECT_EQ(scraped.at("vcap_publisher_failed_attempts_total", alarms), 1)
      << "the next one waits for the clock";
  EXPECT_EQ(scraped.at("vcap_publisher_failing", alarms), 1);
  EXPECT_GT(scraped.at("vcap_publisher_spool_bytes", alarms), 0);

  publisher.reset();
  EXPECT_FALSE(scrape(server).find("vcap_publisher_messages_waiting", alarms));
}

TEST(MetricsServer, ForgetsClosedStreams) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback);
  FrameFeed feed;
  pipeline.open_stream({.id = "gate", .source = feed.source()});
  EXPECT_TRUE(scrape(server).find("vcap_stream_frames_read_total", {{"stream", "gate"}}));
  pipeline.close_stream("gate");
  const Scrape scraped = scrape(server);
  for (const auto& [key, number] : scraped.numbers())
    EXPECT_FALSE(key.second.contains("stream")) << key.first;
}

TEST(MetricsServer, EscapesStreamIds) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback);
  const std::string id = "a\"b\\c\nd},e=\"f\" # 7";
  FrameFeed feed;
  FrameFeed other;
  pipeline.open_stream({.id = id, .source = feed.source()});
  pipeline.open_stream({.id = "bad \xff byte", .source = other.source()});
  const Scrape scraped = scrape(server);
  EXPECT_EQ(scraped.at("vcap_stream_frames_read_total", {{"stream", id}}), 0);
  EXPECT_EQ(scraped.at("vcap_stream_frames_read_total", {{"stream", "bad \uFFFD byte"}}), 0);
}

TEST(MetricsServer, AddsUpCapsulesOfOneNameAndVersion) {
  Pipeline pipeline({make_batching("doubler")});
  const MetricsServer server(pipeline, kLoopback);
  FrameFeed feed;
  pipeline.open_stream({.id = "gate", .source = feed.source(), .pull = true});
  feed.push(cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0)));
  yield_until("a call", [&] { return pipeline.stats().capsules[0].calls > 0; });
  // The frame that nobody has pulled keeps the old capsule alive.
  pipeline.replace_capsule(make_batching("doubler"));
  EXPECT_EQ(
      scrape(server).at("vcap_capsule_calls_total", {{"capsule", "doubler"}, {"version", "3"}}), 1);
  feed.end();
}

TEST(MetricsServer, AnswersOtherPathsWithNotFound) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback);
  EXPECT_EQ(http_get(server.port(), "/").status, 404);
  EXPECT_EQ(http_get(server.port(), "/etc/passwd").status, 404);
  EXPECT_EQ(http_get(server.port(), "/../../etc/passwd").status, 404);
}

TEST(MetricsServer, RefusesAPortInUse) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback);
  const std::string taken = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_THAT([&] { MetricsServer(pipeline, taken); },
              (ThrowsError<OutputError>(
                  ErrorCode::output_open,
                  testing::AllOf(HasSubstr(taken), HasSubstr("in use"), HasSubstr("port 0")))));
  scrape(server);
}

TEST(MetricsServer, RefusesInvalidAddresses) {
  Pipeline pipeline({make_detector("people", "person")});
  for (const std::string address :
       {"", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "h:x", "h:70000", "h:-1", "h:+1", "h: 1",
        "127.0.0.1:80,127.0.0.1:81x", "h:1s"})
    EXPECT_THAT(
        [&] { MetricsServer(pipeline, address); },
        (ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("127.0.0.1:9464"))))
        << address;
  for (const std::string address : {"127.0.0.1:80,127.0.0.1:81", "300.0.0.1:0", "[::1]:0"})
    EXPECT_THAT([&] { MetricsServer(pipeline, address); },
                (ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("IPv4"))))
        << address;
  EXPECT_THAT([&] { MetricsServer(pipeline, "192.0.2.1:9464"); },  // reserved for documentation
              (ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("this machine"))));
}

constexpr const char* kHalfOpen = "GET /metrics HTTP/1.1\r\nHost: x\r\n";  // without its end

/// So long that no test passes because of it.
constexpr std::chrono::minutes kNever{10};

TEST(MetricsServer, AnswersWhileHalfOpenRequestsWait) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback, {.request_deadline = kNever});
  for (const std::uint8_t from :
       {std::uint8_t{1}, std::uint8_t{2}}) {  // the scraper's own address, and another one
    SCOPED_TRACE(int{from});
    std::vector<std::unique_ptr<LoopbackConnection>> clients;
    for (int i = 0; i < 224; ++i) {
      clients.push_back(std::make_unique<LoopbackConnection>(server.port(), 60, from));
      clients.back()->send(kHalfOpen);
    }
    scrape(server);
    EXPECT_EQ(clients.front()->read_all(), "") << "the oldest made room";
  }
}

TEST(MetricsServer, AnswersWhileManyAddressesHoldIdleConnections) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback,
                             {.connections = 8, .per_address = 4, .request_deadline = kNever});
  std::vector<std::unique_ptr<LoopbackConnection>> idle;
  for (int i = 0; i < 60; ++i)
    idle.push_back(std::make_unique<LoopbackConnection>(server.port(), 60,
                                                        static_cast<std::uint8_t>(2 + i % 6)));
  scrape(server);
}

TEST(MetricsServer, EndsATrickleAtTheDeadline) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback,
                             {.request_deadline = std::chrono::milliseconds(300)});
  const LoopbackConnection trickle(server.port());
  const LoopbackConnection silent(server.port());
  const auto begin = std::chrono::steady_clock::now();
  trickle.send("GET /metrics HTTP/1.1\r\nx: ");
  // No byte comes later than a tenth of the deadline after the one before.
  while (trickle.send("x") && std::chrono::steady_clock::now() - begin < kNever)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kNever);
  EXPECT_EQ(silent.read_all(), "");
  scrape(server);
}

TEST(MetricsServer, BoundsTheSizeOfARequest) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback, {.request_deadline = kNever});
  const LoopbackConnection client(server.port());
  client.send("GET /metrics HTTP/1.1\r\n");
  const std::string line = "x: " + std::string(1000, 'x') + "\r\n";
  for (int i = 0; i < 10'000 && client.send(line); ++i) {
  }
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 4")) << answer;
  scrape(server);
}

TEST(MetricsServer, ReadsNoBodyAndAllowsOnlyReading) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback);
  const LoopbackConnection client(server.port());
  client.send("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
  EXPECT_THAT(client.read_all(),
              testing::AllOf(testing::StartsWith("HTTP/1.1 405"), HasSubstr("Allow: GET, HEAD")));
  const LoopbackConnection head(server.port());
  head.send("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = head.read_all();
  EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST(MetricsServer, AnswersEachRequestInAConnectionOfItsOwn) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback);
  const LoopbackConnection client(server.port());
  client.send("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(client.read_all(), HasSubstr("Connection: close"));  // and it is closed
}

TEST(MetricsServer, RefusesInvalidLimits) {
  Pipeline pipeline({make_detector("people", "person")});
  const std::pair<ConnectionLimits, const char*> cases[] = {
      {{.connections = 0}, "connections of 0 is not within 1 to 10000"},
      {{.per_address = 0}, "per_address of 0"},
      {{.request_deadline = std::chrono::milliseconds(0)}, "request_deadline of 0 ms"},
      {{.answer_deadline = std::chrono::hours(25)}, "answer_deadline of 90000000 ms"},
      {{.request_bytes = 1023}, "request_bytes of 1023 bytes is not within 1024 to"}};
  for (const auto& one : cases)
    EXPECT_THAT([&] { MetricsServer(pipeline, kLoopback, one.first); },
                (ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(one.second))));
}

TEST(MetricsServer, LeavesTheHostsSignalsAlone) {
  struct sigaction before {};
  struct sigaction after {};
  ::sigaction(SIGPIPE, nullptr, &before);
  Pipeline pipeline({make_detector("people", "person")});
  {
    const MetricsServer server(pipeline, kLoopback);
    ::sigaction(SIGPIPE, nullptr, &after);
    EXPECT_EQ(after.sa_handler, before.sa_handler);
    for (int i = 0; i < 20; ++i)
      LoopbackConnection(server.port()).send("GET /metrics HTTP/1.0\r\n\r\n");
    scrape(server);  // clients that disconnected early did no harm
  }
  ::sigaction(SIGPIPE, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST(MetricsServer, AnswersWhileStreamsComeAndGo) {
  Pipeline pipeline({make_detector("people", "person")});
  const MetricsServer server(pipeline, kLoopback);
  std::atomic<bool> over{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (!over) scrape(server);
    });
  {
    std::vector<std::jthread> streams;
    for (int t = 0; t < 3; ++t)
      streams.emplace_back([&, t] {
        for (int i = 0; i < 10; ++i) {
          const std::string id = "stream " + std::to_string(t);
          pipeline.open_stream({.id = id, .source = make_source(20)});
          pipeline.wait(id);
        }
      });
  }
  over = true;
}

TEST(MetricsServer, EndsWhileItIsScraped) {
  Pipeline pipeline({make_detector("people", "person")});
  for (int i = 0; i < 3; ++i) {
    std::optional<MetricsServer> server;
    server.emplace(pipeline, kLoopback);
    const std::uint16_t port = server->port();
    std::atomic<int> scrapes{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&scrapes, port](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          try {
            if (http_get(port, "/metrics", 3).status == 200) ++scrapes;
          } catch (const std::system_error&) {
            return;  // the server has ended
          }
        }
      });
    yield_until("five scrapes", [&] { return scrapes >= 5; });
    const LoopbackConnection silent(port);
    server.reset();
  }
}

}  // namespace
}  // namespace vcap::test
