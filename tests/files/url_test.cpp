// SPDX-License-Identifier: Apache-2.0
#include "files/url.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace vcap {
namespace {

class WithoutPassword : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST(HostOf, FindsTheHostOfAUrl) {
  EXPECT_EQ(host_of("rtsp://camera.example/live"), "camera.example");
  EXPECT_EQ(host_of("rtsp://user:pass@camera:554/live?x=@y"), "camera");
  EXPECT_EQ(host_of("rtsp://user:pa/ss@camera:554/live"), "camera");
  EXPECT_EQ(host_of("http://[fe80::1]:8080/"), "fe80::1");
  EXPECT_EQ(host_of("http://camera"), "camera");
  EXPECT_EQ(host_of("http://"), "");
  EXPECT_EQ(host_of("file.mp4"), "");
}

TEST_P(WithoutPassword, HidesThePassword) {
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

class WithoutPasswords : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(WithoutPasswords, HidesThemInALineOfText) {
  EXPECT_EQ(without_passwords(GetParam().first), GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(
    Url, WithoutPasswords,
    testing::Values(std::pair("no URL, joe:secret@cam", "no URL, joe:secret@cam"),
                    std::pair("Opening 'rtsp://joe:secret@cam/1' for reading",
                              "Opening 'rtsp://joe:***@cam/1' for reading"),
                    std::pair("rtsp://joe:secret@cam moved to http://ann:hidden@cam:80/?pwd=x now",
                              "rtsp://joe:***@cam moved to http://ann:***@cam:80/?pwd=*** now"),
                    std::pair("rtsp://joe:se 'cr' et@cam/1 failed", "rtsp://joe:***@cam/1 failed"),
                    std::pair("[tcp @ 0x1] tcp://cam:80?timeout=0 failed: refused",
                              "[tcp @ 0x1] tcp://cam:80?timeout=0 failed: refused"),
                    std::pair("tcp://cam:80 failed, see a@b", "tcp://cam:***@b"),
                    std::pair("at the end ://", "at the end ://")));

}  // namespace
}  // namespace vcap
