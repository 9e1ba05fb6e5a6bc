// SPDX-License-Identifier: Apache-2.0
#include "runtime/url.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace vcap {
namespace {

class WithoutPassword : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(WithoutPassword, SaysWhatMayBeSaid) {
  EXPECT_EQ(without_password(GetParam().first), GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(
    Url, WithoutPassword,
    testing::Values(std::pair("rtsp://cam/1", "rtsp://cam/1"),
                    std::pair("rtsp://cam:554/1", "rtsp://cam:554/1"),
                    std::pair("rtsp://joe@cam/1", "rtsp://joe@cam/1"),
                    std::pair("rtsp://joe:secret@cam/1", "rtsp://joe:***@cam/1"),
                    std::pair("rtsp://joe:se:cr@et@cam:554/1", "rtsp://joe:***@cam:554/1"),
                    std::pair("rtsp://joe:sec/ret@cam/1", "rtsp://joe:***@cam/1"),
                    std::pair("rtsp://joe:sec?ret@cam/1", "rtsp://joe:***@cam/1"),
                    std::pair("http://cam:80/a@b", "http://cam:80/a@b"),
                    std::pair("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
                    std::pair("http://cam/x?user=joe&pwd=secret&n=1",
                              "http://cam/x?user=joe&pwd=***&n=1"),
                    std::pair("http://cam/x?PassWord=s", "http://cam/x?PassWord=***"),
                    std::pair("http://cam/x?a=1#b", "http://cam/x?a=1#b"),
                    std::pair("://", "://")));

}  // namespace
}  // namespace vcap
