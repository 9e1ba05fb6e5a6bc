// SPDX-License-Identifier: Apache-2.0
#include "media/av_log.hpp"

#include <gmock/gmock.h>

extern "C" {
#include <libavutil/log.h>
}

#include <string>
#include <thread>
#include <vector>

#include "support/live_helpers.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AvLog : public testing::Test {
 protected:
  AvLog() {
    take_av_log();
    av_log_set_level(AV_LOG_INFO);
  }
  ~AvLog() override { av_log_set_level(level_); }

  const int level_ = av_log_get_level();
  const KeptLog log_;
};

TEST_F(AvLog, TakesLibavsMessagesInsteadOfStandardError) {
  testing::internal::CaptureStderr();
  EXPECT_THROW(open_source("http://joe:secret@127.0.0.1:1/live"), SourceError);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("debug: libav: [tcp @ "),
                                 HasSubstr("Connection refused\n"), Not(HasSubstr("secret"))));
}

TEST_F(AvLog, HasOneLineForEachLineOfLibav) {
  av_log(nullptr, AV_LOG_ERROR, "of %d ", 3);
  av_log(nullptr, AV_LOG_ERROR, "parts\nand ");
  EXPECT_EQ(log_.text(), "debug: libav: of 3 parts\n");
  av_log(nullptr, AV_LOG_ERROR, "another\n\n");
  EXPECT_EQ(log_.text(), "debug: libav: of 3 parts\ndebug: libav: and another\n");
}

TEST_F(AvLog, KeepsThePartsOfEachThreadTogether) {
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        for (int j = 0; j < 100; ++j) {
          av_log(nullptr, AV_LOG_ERROR, "one ");
          av_log(nullptr, AV_LOG_ERROR, "line\n");
        }
      });
  }
  std::string all;
  for (int i = 0; i < 400; ++i) all += "debug: libav: one line\n";
  EXPECT_EQ(log_.text(), all);
}

TEST_F(AvLog, HasNoPasswords) {
  // The URL is at the place at which a buffer of the usual size would cut it in two.
  const std::string before(1010, 'x');
  av_log(nullptr, AV_LOG_ERROR, "%s rtsp://joe:secret@cam/1 failed\n", before.c_str());
  EXPECT_EQ(log_.text(), "debug: libav: " + before + " rtsp://joe:***@cam/1 failed\n");
}

TEST_F(AvLog, ReplacesTerminalControlCharacters) {
  av_log(nullptr, AV_LOG_ERROR, "a \x1b[31mserver's\n");
  EXPECT_EQ(log_.text(), "debug: libav: a ?[31mserver's\n");
}

TEST_F(AvLog, LeavesOutMessagesBeyondLibavsLevelAndRequests) {
  av_log(nullptr, AV_LOG_VERBOSE, "detail\n");
  EXPECT_EQ(log_.text(), "");
  av_log_set_level(AV_LOG_TRACE);
  av_log(nullptr, AV_LOG_DEBUG, "Authorization: Basic am9lOnNlY3JldA==\n");
  EXPECT_EQ(log_.text(), "");
  av_log(nullptr, AV_LOG_VERBOSE, "detail\n");
  EXPECT_EQ(log_.text(), "debug: libav: detail\n");
}

}  // namespace
}  // namespace vcap::test
