// SPDX-License-Identifier: Apache-2.0
#include "cli/policy_arguments.hpp"

#include <gmock/gmock.h>

#include "cli/exit_code.hpp"

namespace vcap::cli {
namespace {

using namespace std::chrono_literals;

TEST(ParseQuarantine, ReadsFailuresAndTimes) {
  const QuarantinePolicy usual;
  const QuarantinePolicy failures = parse_quarantine("3", "--quarantine");
  EXPECT_EQ(failures.failures, 3u);
  EXPECT_EQ(failures.window, usual.window);
  EXPECT_EQ(failures.pause, usual.pause);
  const QuarantinePolicy within = parse_quarantine("1000000:0.5", "--quarantine");
  EXPECT_EQ(within.failures, 1000000u);
  EXPECT_EQ(within.window, 500ms);
  EXPECT_EQ(within.pause, usual.pause);
  const QuarantinePolicy all = parse_quarantine("2:86400:0.001", "--quarantine");
  EXPECT_EQ(all.window, 24h);
  EXPECT_EQ(all.pause, 1ms);
}

TEST(ParseQuarantine, RefusesInvalidText) {
  for (const char* text :
       {"", "0", "-1", "1000001", "3:", ":10", "3:0", "3:86401", "3:-1", "3:nan", "3:10:", "3:10:0",
        "3:10:30:", "3:10:30:1", "3 ", " 3", "3,10", "three"}) {
    try {
      parse_quarantine(text, "--quarantine-all");
      ADD_FAILURE() << '"' << text << "\" was taken";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(),
                  testing::AllOf(testing::HasSubstr("--quarantine-all " + std::string(text)),
                                 testing::HasSubstr("N[:WITHIN[:PAUSE]]")));
    }
  }
}

TEST(ParseDeadline, ReadsSecondsOrNone) {
  EXPECT_EQ(parse_deadline("none", "--deadline"), 0s);
  EXPECT_EQ(parse_deadline("0.001", "--deadline"), 1ms);
  EXPECT_EQ(parse_deadline("5", "--deadline"), 5s);
  EXPECT_EQ(parse_deadline("86400", "--deadline"), 24h);
}

TEST(ParseDeadline, RefusesInvalidText) {
  for (const char* text : {"", "0", "-1", "86401", "nan", "inf", "5s", " 5", "5 ", "None", "off"}) {
    try {
      parse_deadline(text, "--deadline");
      ADD_FAILURE() << '"' << text << "\" was taken";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(),
                  testing::AllOf(testing::HasSubstr("--deadline " + std::string(text)),
                                 testing::HasSubstr("0.001 to 86400 seconds")));
    }
  }
}

TEST(PolicyArguments, HaveADeadlineByDefault) {
  StreamConfig config;
  PolicyArguments().apply_to(config);
  EXPECT_EQ(config.capsule_deadline, 30s);
  EXPECT_EQ(config.first_call_deadline, 300s);
  PolicyArguments none{.deadline = 0s};
  none.apply_to(config);
  EXPECT_EQ(config.capsule_deadline, 0s);
  EXPECT_EQ(config.first_call_deadline, 0s);
}

}  // namespace
}  // namespace vcap::cli
