// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/live_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include <nlohmann/json.hpp>

#include "support/http_get.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/frame_feed.hpp"
#include "view/live_records.hpp"

namespace vcap::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

FrameRecord live_record(std::int64_t index, const std::string& stream = "gate") {
  FrameRecord record{.stream_id = stream};
  record.frame.index = index;
  return record;
}

TEST(LiveRecords, KeepsNothingOfAStreamThatNobodyLooksAt) {
  const LiveRecords::time_point start{1h};
  LiveRecords records;
  records.put(live_record(0), start);
  EXPECT_FALSE(records.look("gate", start));
  records.put(live_record(1), start);
  records.put(live_record(1, "yard"), start);
  EXPECT_EQ(records.look("gate", start)->frame.index, 1);
  EXPECT_FALSE(records.look("yard", start));
}

TEST(LiveRecords, GivesTheNewestRecordOfTheTimeAfterALook) {
  const LiveRecords::time_point start{1h};
  LiveRecords records;
  records.look("gate", start);
  for (int i = 0; i < 3; ++i) records.put(live_record(i), start + LiveRecords::kLook);
  records.put(live_record(3), start + LiveRecords::kLook + 1ns);
  EXPECT_EQ(records.look("gate", start + LiveRecords::kLook)->frame.index, 2);
  EXPECT_FALSE(records.look("gate", start + 3 * LiveRecords::kLook));  // too old
}

HttpAnswer get_from_view(const LiveView& view, const std::string& request) {
  const LoopbackConnection connection(view.port());
  connection.send(request);
  const std::string text = connection.read_all();
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return {};
  return {.status = std::stoi(text.substr(text.find(' ') + 1)),
          .head = text.substr(0, end),
          .body = text.substr(end + 4)};
}

HttpAnswer get_from_view_at(const LiveView& view, const std::string& path) {
  return get_from_view(view, "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" +
                                 std::to_string(view.port()) + "\r\n\r\n");
}

TEST(LiveView, ShowsAStreamWhoseNameIsMarkup) {
  Pipeline pipeline({});
  const LiveView view(pipeline, "127.0.0.1:0");
  FrameFeed feed;
  StreamConfig config{.id = "<b>gate</b>", .source = feed.source()};
  config.sinks.push_back(view.sink());
  pipeline.open_stream(std::move(config));
  const std::string query = "?stream=%3Cb%3Egate%3C/b%3E&width=320";
  HttpAnswer answer;
  for (int i = 0; answer.status != 200 && i < 10'000; ++i) {  // until a frame comes after a look
    answer = get_from_view_at(view, "/api/v1/picture" + query);
    feed.push(cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(90)), 40ms * i);
  }
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("image/jpeg"));
  EXPECT_EQ(answer.body.substr(0, 2), "\xff\xd8");
  const auto record = nlohmann::json::parse(get_from_view_at(view, "/api/v1/record" + query).body);
  EXPECT_EQ(record["stream_id"], "<b>gate</b>");
  const auto state = nlohmann::json::parse(get_from_view_at(view, "/api/v1/state").body);
  EXPECT_EQ(state["stats"]["streams"][0]["id"], "<b>gate</b>");
  feed.end();
  pipeline.wait("<b>gate</b>");
}

TEST(LiveView, ServesItsPageWithAStrictPolicy) {
  Pipeline pipeline({});
  const LiveView view(pipeline, "127.0.0.1:0");
  for (const char* path :
       {"/", "/live.css", "/live.js", "/icon.svg", "/chart.js", "/api/v1/state"}) {
    const HttpAnswer answer = get_from_view_at(view, path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_THAT(answer.head, HasSubstr("Content-Security-Policy: default-src 'self'")) << path;
  }
  EXPECT_THAT(get_from_view_at(view, "/").body,
              HasSubstr("<script type=\"module\" src=\"/live.js\">"));
  EXPECT_EQ(get_from_view_at(view, "/other").status, 404);
  EXPECT_EQ(get_from_view_at(view, "/api/v1/picture?stream=none").status, 404);
}

TEST(LiveView, RefusesOtherHostsMethodsAndAddresses) {
  Pipeline pipeline({});
  const LiveView view(pipeline, "127.0.0.1:0");
  for (const char* path : {"/", "/live.js", "/api/v1/state", "/api/v1/picture", "/api/v1/record"}) {
    const std::string host = std::string(path) + " HTTP/1.1\r\nHost: ";
    EXPECT_EQ(get_from_view(view, "GET " + host + "evil.example\r\n\r\n").status, 403) << path;
  }
  EXPECT_EQ(get_from_view(view, "PUT /api/v1/state HTTP/1.1\r\nHost: 127.0.0.1:" +
                                    std::to_string(view.port()) + "\r\n\r\n")
                .status,
            405);
  EXPECT_THAT(
      [&] { LiveView(pipeline, "0.0.0.0:0"); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("127.0.0.1:PORT")));
}

}  // namespace
}  // namespace vcap::test
