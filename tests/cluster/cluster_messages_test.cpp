// SPDX-License-Identifier: Apache-2.0
// Messages come from other processes, of other versions, or from somebody else.
#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/job_message.hpp"
#include "cluster/lease_record.hpp"
#include "cluster/lease_view.hpp"
#include "cluster/settled_message.hpp"
#include "cluster/site.hpp"
#include "records/record_counts.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using Json = nlohmann::json;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

auto refused(const std::string& words) {
  return ThrowsError<ClusterError>(ErrorCode::invalid_message, HasSubstr(words));
}

LeaseRecord lease_record() {
  return {.state = LeaseRecord::State::leased,
          .number = 1'234'567'890'123'456'789,
          .until = Clock::time_point(seconds(5)),
          .place = 7,
          .reasons = {"first", "second"}};
}

JobMessage job_message() {
  JobMessage message{.state = JobMessage::State::paused,
                     .name = "host:/out",
                     .priority = -3,
                     .submitted = nanoseconds(123),
                     .videos = 2,
                     .settled_before = 1,
                     .shared = "/shared",
                     .capsules = {{.object = {"capsule/ab", 9, std::string(64, 'a')},
                                   .config = {{"x", 1}},
                                   .stencil = Stencil{.offsets = {-1, 0}}}},
                     .capsule_deadline = seconds(1),
                     .first_call_deadline = seconds(2)};
  message.job.outputs = {.jsonl = false, .video = true, .draw = "boxes", .summary = true};
  message.job.slices = 4;
  message.job.attempts = 5;
  message.job.invalid_output = InvalidOutput::warn;
  message.job.max_frames = 77;
  return message;
}

SliceTask slice_task() {
  return {.video = {.id = "gate",
                    .source = "/videos/gate.mp4",
                    .capsules = std::vector<std::string>{"a"},
                    .options = {{"a", {{"threshold", 0.5}}}},
                    .config = {{"a", {{"area", 9}}}}},
          .stamp = {{"size", 5}, {"modified_ns", 6}},
          .plan = 2,
          .slice = 3};
}

SliceResult slice_result() {
  return {.video = "gate",
          .plan = 2,
          .slice = 3,
          .counts = Json(RecordCounts{.frames = 4}),
          .files = {{.name = "clip.mp4", .object = {"job/1/x/clip.mp4", 5, std::string(64, 'b')}},
                    {.name = "records.jsonl", .text = "{}\n"}}};
}

TEST(ClusterMessages, ReadBackAsTheyWereWritten) {
  const LeaseRecord lease = read_lease(to_message(lease_record()));
  EXPECT_EQ(to_message(lease), to_message(lease_record()));
  EXPECT_EQ(lease.number, lease_record().number);
  const JobMessage job = read_job_message(to_message(job_message()));
  EXPECT_EQ(to_message(job), to_message(job_message()));
  EXPECT_EQ(job.job.max_frames, 77);
  EXPECT_EQ(job.job.outputs.draw, "boxes");
  EXPECT_EQ(job.capsules.at(0).stencil->offsets, job_message().capsules[0].stencil->offsets);
  const SliceTask task = read_slice_task(to_payload(slice_task()));
  EXPECT_EQ(to_payload(task), to_payload(slice_task()));
  EXPECT_EQ(task.id(), slice_task().id());
  EXPECT_EQ(to_result(read_slice_result(to_result(slice_result()))), to_result(slice_result()));
  const ObjectReference index{"job/7/index", 30, std::string(64, '0')};
  for (const PlanMessage& plan :
       {PlanMessage{3, {{0, 5}, {5, 9}}}, PlanMessage{3, {{0, 5}, {5, 9}}, index}})
    EXPECT_EQ(to_message(read_plan(to_message(plan))), to_message(plan));
  for (const SettledMessage& settled :
       {SettledMessage{true, {{"r", 1}}, {}}, SettledMessage{false, {}, {"why"}}})
    EXPECT_EQ(to_message(read_settled(to_message(settled))), to_message(settled));
}

/// Every message with each of its fields missing, null, of another type or another object.
TEST(ClusterMessages, AreRefusedIfAFieldIsMissingOrOfAnotherType) {
  struct Case {
    Json message;
    std::function<void(const Json&)> read;
    std::vector<std::string> optional;
  };
  const std::vector<Case> cases{
      {Json::parse(to_message(lease_record())),
       [](const Json& json) { read_lease(json.dump()); },
       {"reasons"}},
      {Json::parse(to_message(job_message())),
       [](const Json& json) { read_job_message(json.dump()); },
       {"max_frames", "settled_before"}},
      {to_payload(slice_task()), [](const Json& json) { read_slice_task(json); }, {"stamp"}},
      {to_result(slice_result()), [](const Json& json) { read_slice_result(json); }, {}},
      {Json::parse(to_message(PlanMessage{3, {{0, 5}}, ObjectReference{"job/7/index", 30, "00"}})),
       [](const Json& json) { read_plan(json.dump()); },
       {"index"}},
      {Json::parse(to_message(SettledMessage{false, {}, {"why"}})),
       [](const Json& json) { read_settled(json.dump()); },
       {}}};
  for (const Case& one : cases) {
    one.read(one.message);
    for (const auto& [key, value] : one.message.items()) {
      SCOPED_TRACE(key);
      const bool is_optional =
          std::find(one.optional.begin(), one.optional.end(), key) != one.optional.end();
      Json changed = one.message;
      changed.erase(key);
      if (!is_optional) {
        EXPECT_THAT([&] { one.read(changed); }, refused("not a valid vcap."));
      }
      if (key == "stamp") continue;  // any value that equals the file's
      for (const Json& wrong : {Json(nullptr), Json({{"x", {1, 2}}}), Json({Json::object()})}) {
        changed[key] = wrong;
        EXPECT_THAT([&] { one.read(changed); }, refused("not a valid vcap.")) << wrong;
      }
    }
  }
}

TEST(ClusterMessages, AreRefusedIfTheyAreNotWhatTheyClaim) {
  EXPECT_THAT([] { read_lease("no JSON"); }, refused("vcap.lease/1"));
  EXPECT_THAT([] { read_lease("[]"); }, refused("schema"));
  EXPECT_THAT([] { read_lease(R"({"schema":"vcap.lease/2"})"); }, refused("another version"));
  EXPECT_THAT([] { read_lease(std::string(100'000, '[')); }, refused("vcap.lease/1"));
  Json lease = Json::parse(to_message(lease_record()));
  lease["state"] = "giving_up";
  lease.erase("reasons");
  EXPECT_THAT([&] { read_lease(lease.dump()); }, refused("no attempt has failed"));
  SliceResult escape = slice_result();
  for (const char* const name : {"../x", "/etc/x", ".hidden", "a/b"}) {
    escape.files[0].name = name;
    EXPECT_THAT([&] { read_slice_result(to_result(escape)); }, refused("name of a file"));
  }
  for (const Json& slices : {Json::array(), Json({{5, 5}}), Json({{-1, 5}}), Json({{0, 1, 2}}),
                             Json({"some"}), Json({{0.5, 2}})})
    EXPECT_THAT(
        [&] {
          read_plan(to_message(PlanMessage{1, slices}));
        },
        refused("vcap.plan/1"))
        << slices;
}

TEST(ClusterMessages, NameAVideoThatHasChangedDifferently) {
  SliceTask task = slice_task();
  const std::string id = task.id();
  EXPECT_THAT(id, testing::MatchesRegex("gate@[0-9a-f]{16}/2/3"));
  task.stamp["size"] = 6;
  EXPECT_NE(task.id(), id);
  task.video.id = std::string(255, 'x');
  EXPECT_LE(task.id().size(), 256u);
}

TEST(SiteNames, EscapeWhatSubjectsDoNotAllow) {
  const Site site("north-1");
  EXPECT_EQ(site.stream(Site::Kind::task), "VCAP_north-1_TASK");
  const std::string text = "a.b *>\xff=%/\n";
  const std::string subject = site.subject(Site::Kind::lease, {"queue 1", text});
  EXPECT_EQ(subject, "vcap.north-1.lease.queue=201.a=2Eb=20=2A=3E=FF=3D=25=2F=0A");
  EXPECT_EQ(last_token(subject), text);
  EXPECT_EQ(site.notes(Site::Kind::lease, {"q"}), "vcap.north-1.note.lease.q.*");
  for (const char* const wrong : {"a.=Z1", "a.=1", "a.="})
    EXPECT_THAT([&] { last_token(wrong); }, refused("invalid escape"));
  for (const std::string& wrong : {std::string(), std::string("a b"), std::string("a.b"),
                                   std::string("ä"), std::string(33, 'x')})
    EXPECT_THAT([&] { Site{wrong}; },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("1 to 32")));
}

TEST(LeaseViewTest, KeepsTheNewestRecordOfEachTask) {
  LeaseView view;
  const auto record = [](LeaseRecord::State state, int until, std::uint64_t place) {
    return LeaseRecord{.state = state, .until = Clock::time_point(seconds(until)), .place = place};
  };
  using State = LeaseRecord::State;
  EXPECT_TRUE(view.set("a", 5, record(State::leased, 10, 1)));
  EXPECT_FALSE(view.set("a", 4, record(State::waiting, 0, 1)));
  EXPECT_FALSE(view.set("a", 5, record(State::waiting, 0, 1)));
  EXPECT_TRUE(view.set("b", 6, record(State::leased, 8, 2)));
  EXPECT_EQ(view.first_end(), Clock::time_point(seconds(8)));
  EXPECT_THAT(view.run_out(Clock::time_point(seconds(10))), ElementsAre("b", "a"));
  EXPECT_FALSE(view.first_waiting({}));
  EXPECT_TRUE(view.set("b", 7, record(State::waiting, 0, 2)));
  EXPECT_TRUE(view.set("a", 8, record(State::waiting, 0, 1)));
  EXPECT_EQ(view.first_waiting({})->task, "a");
  EXPECT_EQ(view.first_waiting({{"a", {}}})->task, "b");
  EXPECT_EQ(view.first_end(), Clock::time_point::max());
  EXPECT_TRUE(view.set("a", 9, record(State::done, 0, 1)));
  EXPECT_FALSE(view.remove("a"));
  EXPECT_TRUE(view.remove("b"));
  EXPECT_THAT(view.run_out(Clock::time_point::max()), IsEmpty());
}

}  // namespace
}  // namespace vcap::test
