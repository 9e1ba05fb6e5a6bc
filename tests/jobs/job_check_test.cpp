// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_check.hpp"

#include <gmock/gmock.h>

#include <functional>

#include <nlohmann/json.hpp>

#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;

CapsuleInfo finder_info() {
  CapsuleInfo info = detector_info("finder", "person");
  info.version = 1;
  info.config_schema = {{"type", "object"}, {"additionalProperties", false}};
  info.options = {{"threshold", FloatOption{.default_value = 0.5, .min = 0.1, .max = 1.0}}};
  return info;
}

CapsuleInfo follower_info() {
  CapsuleInfo info = all_info("follower", "person");
  info.version = 1;
  info.stream_state = make_stream_state<CountingState>();
  info.stream_config_schema = {{"type", "object"},
                               {"properties", {{"area", {{"type", "integer"}, {"minimum", 1}}}}},
                               {"additionalProperties", false}};
  return info;
}

Job sound_job() {
  Job job;
  job.capsules.resize(2);
  job.videos = {{.id = "gate"},
                {.id = "yard",
                 .options = {{"finder", {{"threshold", 0.7}}}},
                 .config = {{"follower", {{"area", 3}}}}}};
  return job;
}

struct WrongJob {
  std::string name;
  std::function<void(Job&)> spoil;
  std::string message;
};

class WrongJobs : public testing::TestWithParam<WrongJob> {};

TEST_P(WrongJobs, AreRefusedWithTheNameOfTheVideo) {
  Job job = sound_job();
  check_job(job, {finder_info(), follower_info()});
  GetParam().spoil(job);
  EXPECT_THAT(
      [&] {
        check_job(job, {finder_info(), follower_info()});
      },
      testing::Throws<Error>(
          testing::Property("what", &Error::what, HasSubstr(GetParam().message))));
}

INSTANTIATE_TEST_SUITE_P(
    JobCheck, WrongJobs,
    testing::Values(
        WrongJob{"UnknownCapsule",
                 [](Job& job) {
                   job.videos[1].capsules = {"finder", "nobody"};
                 },
                 "video \"yard\": \"capsules\" names the capsule \"nobody\"; the job has "
                 "\"finder\""},
        WrongJob{"CapsuleWithoutItsInput", [](Job& job) { job.videos[0].capsules = {"follower"}; },
                 "follower"},
        WrongJob{"OptionsOfNobody", [](Job& job) { job.videos[0].options["nobody"] = {}; },
                 "video \"gate\": \"options\" names the capsule \"nobody\""},
        WrongJob{"UnknownOption",
                 [](Job& job) {
                   job.videos[0].options["finder"] = {{"size", 1}};
                 },
                 "video \"gate\""},
        WrongJob{"OptionOutOfRange",
                 [](Job& job) {
                   job.videos[0].options["finder"] = {{"threshold", 7.0}};
                 },
                 "video \"gate\""},
        WrongJob{"ConfigOfACapsuleLeftOut", [](Job& job) { job.videos[1].capsules = {"finder"}; },
                 "video \"yard\": \"config\" names the capsule \"follower\""},
        WrongJob{"ConfigAgainstItsSchema",
                 [](Job& job) {
                   job.videos[1].config["follower"] = {{"area", 0}};
                 },
                 "/area"},
        WrongJob{"ConfigOfTheCapsule",
                 [](Job& job) {
                   job.capsules[0].config = {{"x", 1}};
                 },
                 "finder"},
        WrongJob{"SlicesOfUnboundedState", [](Job& job) { job.slices = 3; },
                 "video \"gate\": it cannot be cut into 3 slices, since the state of capsule "
                 "\"follower\""},
        WrongJob{"PictureOfNobody",
                 [](Job& job) {
                   job.outputs.video = true;
                   job.outputs.picture = "mask";
                 },
                 "video \"gate\": the output \"picture\" is \"mask\", which none of its "
                 "capsules gives; they give (none)"},
        WrongJob{"DrawnPictureOfNobody",
                 [](Job& job) {
                   job.outputs.video = true;
                   job.outputs.draw = "boxes,label-map:mask";
                 },
                 "video \"gate\": the output \"draw\" is \"mask\", which none of its "
                 "capsules gives; they give (none)"},
        WrongJob{"SlicesOfAClip",
                 [](Job& job) {
                   job.slices = 3;
                   job.outputs.video = true;
                 },
                 "annotated clip"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace vcap::test
