// SPDX-License-Identifier: Apache-2.0
// vcap run of jobs: --job and --out.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include <opencv2/videoio.hpp>

#include "cli/command.hpp"
#include "support/temporary_folder.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::Command;
using test::Result;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using Files = std::map<std::string, std::string>;

Files outputs_in(const fs::path& folder) {
  Files files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().native().front() != '.')
      files.emplace(entry.path().filename(), test::read_file(entry.path()));
  return files;
}

class JobRun : public testing::Test {
 protected:
  void add_clip(const std::string& name, int frames) {
    fs::create_directories(folder_ / "clips");
    cv::VideoWriter writer((folder_ / "clips" / name).string(),
                           cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 25, {64, 48});
    for (int i = 0; i < frames; ++i)
      writer.write(cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(10 * i % 256)));
  }

  /// Writes a job of all clips through two capsules; `changes` replace its fields.
  std::string job(const nlohmann::json& changes = {}) {
    nlohmann::json job = {{"schema", "vcap.job/1"},
                          {"capsules", {test::capsule("finder"), test::capsule("colorist")}},
                          {"sources", {"clips/"}},
                          {"outputs", {{"folder", "out"}, {"summary", true}}}};
    if (!changes.is_null()) job.update(changes, true);
    return folder_.write("job.json", job.dump()).string();
  }

  /// The records that `vcap run` writes for each clip alone.
  Files records_of_single_runs() {
    Files files;
    for (const auto& entry : fs::directory_iterator(folder_ / "clips")) {
      const std::string name = entry.path().stem().string() + ".jsonl";
      EXPECT_EQ(test::vcap({"run", "--capsule", test::capsule("finder"), "--capsule",
                            test::capsule("colorist"), "--source", entry.path().string(), "--jsonl",
                            (folder_ / name).string()})
                    .exit_code,
                0);
      files.emplace(name, test::read_file(folder_ / name));
    }
    return files;
  }

  const test::TemporaryFolder folder_;
  const fs::path out_ = folder_ / "out";
};

TEST_F(JobRun, WritesOutputsForEachVideoAndIsIdempotent) {
  add_clip("gate.avi", 20);
  add_clip("yard.avi", 12);

  const Result first = test::vcap({"run", "--job", job()});

  EXPECT_EQ(first.exit_code, 0) << first;
  EXPECT_THAT(first.out, HasSubstr("  videos done      2\n"));
  EXPECT_THAT(first.err, HasSubstr("vcap: gate: 20 frames\n"));
  EXPECT_THAT(first.err, HasSubstr("vcap: yard: 12 frames\n"));
  Files files = outputs_in(out_);
  EXPECT_EQ(files.erase("gate.txt") + files.erase("yard.txt"), 2u);
  EXPECT_EQ(files, records_of_single_runs());

  const Result second = test::vcap({"run", "--job", job()});
  EXPECT_EQ(second.exit_code, 0) << second;
  EXPECT_THAT(second.out, HasSubstr("  done before      2\n"));
  EXPECT_EQ(second.err, "vcap: kept from earlier runs: 2 of 2 videos\n");
}

TEST_F(JobRun, BuildsAJobFromTheCommandLine) {
  add_clip("gate.avi", 5);
  add_clip("yard.avi", 5);
  const Result result =
      test::vcap({"run", "--capsule", test::capsule("finder"), "--source",
                  (folder_ / "clips").string(), "--option", "finder.threshold=0.75", "--config",
                  R"(finder={"throw_at":[3]})", "--out", out_.string()});
  EXPECT_EQ(result.exit_code, 0) << result;
  const Files files = outputs_in(out_);
  EXPECT_THAT(files, SizeIs(4));
  EXPECT_THAT(files.at("gate.jsonl"), HasSubstr("0.75"));
  EXPECT_THAT(files.at("yard.txt"), HasSubstr("failed frames    1, the first: frame 3: "));
}

TEST_F(JobRun, WritesClipsAndEndsVideosEarlyIfTheCommandLineSaysSo) {
  add_clip("gate.avi", 20);
  const std::vector<std::string> arguments{"run",
                                           test::capsule("finder"),
                                           (folder_ / "clips").string(),
                                           "--out",
                                           out_.string(),
                                           "--max-frames",
                                           "6",
                                           "--video",
                                           ".mp4"};
  const Result result = test::vcap(arguments);
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr("vcap: gate: 6 frames\n"));
  cv::VideoCapture clip((out_ / "gate.mp4").string());
  int frames = 0;
  for (cv::Mat frame; clip.read(frame);) ++frames;
  EXPECT_EQ(frames, 6);
}

TEST_F(JobRun, DrawsTheGivenPartsOnItsClips) {
  add_clip("gate.avi", 2);
  const auto first_of = [](const fs::path& path) {
    cv::Mat first;
    EXPECT_TRUE(cv::VideoCapture(path.string()).read(first)) << path;
    return first;
  };
  const auto run = [&](const std::string& out, const std::vector<std::string>& options) {
    std::vector<std::string> words{"run",   test::capsule("finder"),  (folder_ / "clips").string(),
                                   "--out", (folder_ / out).string(), "--video",
                                   ".mp4"};
    words.insert(words.end(), options.begin(), options.end());
    const Result result = test::vcap(words);
    EXPECT_EQ(result.exit_code, 0) << result;
    return first_of(folder_ / out / "gate.mp4");
  };
  const auto same = [](const cv::Mat& a, const cv::Mat& b) {
    return cv::norm(a, b, cv::NORM_INF) == 0;
  };
  const cv::Mat usual = run("usual", {});
  const cv::Mat nobody = run("nobody", {"--draw", "boxes:car"});
  const cv::Mat masks = run("masks", {"--draw", "masks"});
  EXPECT_FALSE(same(usual, masks));
  EXPECT_FALSE(same(nobody, masks));
  const Result file = test::vcap({"run", "--job",
                                  job({{"capsules", {test::capsule("finder")}},
                                       {"outputs", {{"video", true}, {"draw", "masks"}}}})});
  EXPECT_EQ(file.exit_code, 0) << file;
  EXPECT_TRUE(same(first_of(out_ / "gate.mp4"), masks));
  const Result changed = test::vcap({"run", "--job",
                                     job({{"capsules", {test::capsule("finder")}},
                                          {"outputs", {{"video", true}, {"draw", "boxes"}}}})});
  EXPECT_EQ(changed.exit_code, 2) << changed;
  EXPECT_THAT(changed.err, HasSubstr("/outputs/draw was \"masks\", but is now \"boxes\""));
}

TEST_F(JobRun, RefusesPartsThatItCannotDraw) {
  add_clip("gate.avi", 2);
  const auto refusal = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"run", test::capsule("finder"), (folder_ / "clips").string(),
                                   "--out", out_.string()};
    words.insert(words.end(), options.begin(), options.end());
    const Result result = test::vcap(words);
    EXPECT_EQ(result.exit_code, 2) << result;
    return result.err;
  };
  EXPECT_THAT(refusal({"--draw", "boxes"}), HasSubstr("--video"));
  EXPECT_THAT(refusal({"--video", ".mp4", "--draw", "boxes,zones"}),
              HasSubstr("event rules, which jobs do not have"));
  EXPECT_THAT(refusal({"--video", ".mp4", "--draw", "label-map:mask"}),
              HasSubstr("the output \"draw\" is \"mask\", which none of its capsules gives"));
}

TEST_F(JobRun, SaysHowClipsOfAJobAreNamed) {
  add_clip("gate.avi", 2);
  const Result result = test::vcap({"run", test::capsule("finder"), (folder_ / "clips").string(),
                                    "--out", out_.string(), "--video", "found.mp4"});
  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, AllOf(HasSubstr("--video found.mp4"), HasSubstr("out/NAME.mp4"),
                                HasSubstr("give --video .mp4")));
}

TEST_F(JobRun, TakesStencilsAndPoliciesFromTheCommandLine) {
  add_clip("gate.avi", 3);
  std::vector<std::string> arguments{"run",
                                     "--capsule",
                                     test::capsule("finder"),
                                     "--capsule",
                                     test::capsule("windowed"),
                                     "--source",
                                     (folder_ / "clips").string(),
                                     "--config",
                                     R"(finder={"name":"persn"})",
                                     "--stencil",
                                     "windowed=-2,0,1",
                                     "--invalid-output",
                                     "warn",
                                     "--out",
                                     out_.string()};
  const Result result = test::vcap(arguments);
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(outputs_in(out_).at("gate.jsonl"),
              AllOf(HasSubstr(R"("seen":"0 1 2")"), HasSubstr(R"("name":"persn")"),
                    HasSubstr(R"("warnings":[)")));

  arguments.insert(arguments.end(), {"--max-pixels", "3071"});  // the clip has 64 × 48
  fs::remove_all(out_);
  const Result refused = test::vcap(arguments);
  EXPECT_EQ(refused.exit_code, 1) << refused;
  EXPECT_THAT(refused.out, HasSubstr("pixels, more than 3071 (SourceOptions::max_pixels)"));
}

TEST_F(JobRun, ListsVideosThatFailAndFinishesTheOthers) {
  add_clip("gate.avi", 5);
  folder_.write("clips/wrong.avi", "no video");
  const Result result = test::vcap({"run", "--job", job({{"attempts", 2}})});
  EXPECT_EQ(result.exit_code, 1) << result;
  EXPECT_THAT(result.out,
              HasSubstr("  failed           1\n  video wrong\n    slice 0, attempt 1: "));
  EXPECT_THAT(result.out, HasSubstr("slice 0, attempt 2: file "));
  EXPECT_THAT(outputs_in(out_), SizeIs(2));

  add_clip("wrong.avi", 5);
  add_clip("yard.avi", 5);
  const Result repaired = test::vcap({"run", "--job", job()});
  EXPECT_EQ(repaired.exit_code, 0) << repaired;
  EXPECT_THAT(repaired.out, HasSubstr("  videos done      2\n  done before      1\n"));
  EXPECT_THAT(outputs_in(out_), SizeIs(6));

  const Result other = test::vcap({"run", "--job", job({{"outputs", {{"video", true}}}})});
  EXPECT_EQ(other.exit_code, 2) << other;
  EXPECT_THAT(other.err, HasSubstr("/outputs/video was false, but is now true"));
}

TEST_F(JobRun, LeavesForeignFilesAlone) {
  add_clip("gate.avi", 2);
  folder_.write("out/gate.txt", "mine");
  const Result result = test::vcap({"run", "--job", job()});
  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("out/gate.txt\" exists already"));
  EXPECT_EQ(test::read_file(out_ / "gate.txt"), "mine");
}

TEST_F(JobRun, FailsIfACapsuleFailsOnEveryFrame) {
  add_clip("gate.avi", 2);
  const Result result = test::vcap({"run", "--capsule", test::capsule("finder"), "--source",
                                    (folder_ / "clips").string(), "--config",
                                    R"(finder={"throw_at":[0,1]})", "--out", out_.string()});
  EXPECT_EQ(result.exit_code, 1) << result;
  EXPECT_THAT(result.err, HasSubstr("video gate: a capsule failed on every frame; the first: "));
}

TEST_F(JobRun, RefusesInvalidJobs) {
  add_clip("gate.avi", 2);
  for (const auto& [changes, message] : std::vector<std::pair<nlohmann::json, std::string>>{
           {{{"attempts", 0}}, "/attempts"},
           {{{"sources", {"nowhere.avi"}}}, "/sources/0"},
           {{{"sources", {{{"source", "clips/"}, {"capsules", {"nobody"}}}}}}, "\"nobody\""},
           {{{"sources", {{{"source", "clips/"}, {"options", {{"finder", {{"threshold", 9}}}}}}}}},
            "video \"gate\""}}) {
    const Result result = test::vcap({"run", "--job", job(changes)});
    EXPECT_EQ(result.exit_code, 2) << result;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_FALSE(fs::exists(out_)) << "the refused job has begun";
  }
}

TEST_F(JobRun, RefusesArgumentsThatDoNotApplyToJobs) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"run", "--job", "a.json", "--capsule", "a.cap"},
           {"run", "--job", "a.json", "--out", "out"},
           {"run", "--job", "a.json", "a.cap"},
           {"run", "--job", "a.json", "--max-frames", "3"},
           {"run", "--job", "a.json", "--video", ".mp4", "--draw", "boxes"},
           {"run", "--out", "out", "--capsule", "a.cap", "--source", "a", "--jsonl", "-"}}) {
    const Result result = test::vcap(arguments);
    EXPECT_EQ(result.exit_code, 2) << result;
    EXPECT_THAT(result.err, HasSubstr(" cannot be combined with it; "));
  }
}

/// A job whose capsule waits at a gate in the second of two clips, so that the run has not ended.
class JobAtAGate : public JobRun {
 protected:
  JobAtAGate() {
    add_clip("gate.avi", 10);
    add_clip("yard.avi", 400);
    if (::mkfifo(gate_.c_str(), 0600) != 0) throw std::runtime_error("no FIFO");
    const nlohmann::json config = {{"gate", gate_}, {"gate_at", 10}};
    file_ = job(
        {{"capsules", {{{"path", test::capsule("finder")}, {"config", config}}}}, {"parallel", 1}});
  }
  ~JobAtAGate() override { ::close(opened_); }

  /// Opens the gate permanently. Does not wait for the capsule.
  void open_gate() { opened_ = ::open(gate_.c_str(), O_RDWR | O_CLOEXEC); }

  /// The records of the video in progress.
  std::ptrdiff_t unfinished_records() const {
    std::ptrdiff_t records = 0;
    std::error_code gone;
    for (fs::recursive_directory_iterator at(out_ / ".vcap-job/work", gone), end;
         !gone && at != end; at.increment(gone))
      if (at->path().extension() == ".part") {
        std::ifstream file(at->path());
        records += std::count(std::istreambuf_iterator<char>(file), {}, '\n');
      }
    return records;
  }

  const std::string gate_ = (folder_ / "fifo").string();
  std::string file_;
  int opened_ = -1;
};

TEST_F(JobAtAGate, StopsAndResumes) {
  Command command({"run", "--job", file_});
  ASSERT_TRUE(command.wait_for_err("vcap: gate: 10 frames"));
  command.send(SIGINT);
  ASSERT_TRUE(command.wait_for_err("vcap: stopping; stored results are kept"));
  open_gate();
  const Result stopped = command.wait();
  EXPECT_EQ(stopped.exit_code, 1) << stopped;
  EXPECT_THAT(stopped.out, HasSubstr("  left             1\n"));
  EXPECT_THAT(stopped.out, HasSubstr("run the same command to continue"));
  EXPECT_THAT(outputs_in(out_), SizeIs(2));

  const Result done = test::vcap({"run", "--job", file_});
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_THAT(done.out, HasSubstr("  videos done      1\n  done before      1\n"));
  EXPECT_THAT(outputs_in(out_), SizeIs(4));
}

TEST_F(JobAtAGate, IsLeftIfACapsuleHangsAndResumes) {
  Command command({"run", "--job", file_, "--grace", "0.2"});
  ASSERT_TRUE(command.wait_for_err("vcap: gate: 10 frames"));
  test::await_files("records before the gate", [this] { return unfinished_records() >= 10; });
  command.send(SIGINT);
  const Result left = command.wait();
  EXPECT_EQ(left.exit_code, 9) << left;
  EXPECT_THAT(left.err, HasSubstr("these calls have not returned: capsule finder"));
  EXPECT_THAT(left.err, HasSubstr("run the same command to continue"));
  EXPECT_THAT(outputs_in(out_), SizeIs(2));

  open_gate();
  const Result done = test::vcap({"run", "--job", file_});
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_THAT(done.out, HasSubstr("  videos done      1\n  done before      1\n"));
  EXPECT_THAT(outputs_in(out_), SizeIs(4));
}

TEST_F(JobAtAGate, FailsAVideoInWhichACapsuleDoesNotReturn) {
  const Result result = test::vcap({"run", "--job", file_, "--deadline", "0.2"});
  EXPECT_EQ(result.exit_code, 1) << result;
  EXPECT_THAT(result.out, HasSubstr("  video yard\n    slice "));
  EXPECT_THAT(result.out, HasSubstr(": capsule finder: it "));
  EXPECT_THAT(result.err, HasSubstr("ends without waiting for calls that do not return"));
}

TEST_F(JobAtAGate, IsNotRunByTwoProcessesAtOnce) {
  Command first({"run", "--job", file_});
  ASSERT_TRUE(first.wait_for_err("vcap: gate: 10 frames"));
  const Result second = test::vcap({"run", "--job", file_});
  EXPECT_EQ(second.exit_code, 7) << second;
  EXPECT_THAT(second.err, HasSubstr("another process uses the output folder"));
  open_gate();
  EXPECT_EQ(first.wait().exit_code, 0);
}

/// Watches folders for new names.
class Watcher {
 public:
  Watcher() : descriptor_(::inotify_init1(IN_CLOEXEC)) {}
  ~Watcher() { ::close(descriptor_); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void add(const fs::path& folder) {
    paths_[::inotify_add_watch(descriptor_, folder.c_str(), IN_MOVED_TO)] = folder;
  }
  /// Waits for `names` new names, including those in new folders. False if no name appears for two
  /// seconds, since the run has then ended.
  bool wait_for(int names) {
    while (names > 0) {
      pollfd event{.fd = descriptor_, .events = POLLIN, .revents = 0};
      if (::poll(&event, 1, 2000) != 1) return false;
      alignas(inotify_event) std::array<char, 4096> buffer;
      const ssize_t size = ::read(descriptor_, buffer.data(), buffer.size());
      for (const char* at = buffer.data(); at < buffer.data() + size; --names) {
        const auto* one = reinterpret_cast<const inotify_event*>(at);
        if ((one->mask & IN_ISDIR) != 0) add(paths_[one->wd] / one->name);
        at += sizeof(inotify_event) + one->len;
      }
    }
    return true;
  }

 private:
  const int descriptor_;
  std::map<int, fs::path> paths_;
};

std::map<std::string, fs::file_time_type> finished_in(const fs::path& out) {
  std::map<std::string, fs::file_time_type> notes;
  if (!fs::exists(out / ".vcap-job/finished")) return notes;
  for (const auto& entry : fs::directory_iterator(out / ".vcap-job/finished"))
    notes.emplace(entry.path().filename(), entry.last_write_time());
  return notes;
}

TEST_F(JobRun, ResumesWhereverItWasKilled) {
  for (int i = 0; i < 4; ++i) add_clip("clip" + std::to_string(i) + ".avi", 24 + i);
  ASSERT_EQ(test::vcap({"run", "--job", job({{"slices", 3}, {"parallel", 2}})}).exit_code, 0);
  const Files expected = outputs_in(out_);
  ASSERT_THAT(expected, SizeIs(8));

  int kills = 0;
  for (const int step : {1, 2, 4, 7}) {
    fs::remove_all(out_);
    for (const char* const name : {"videos", "finished"})
      fs::create_directories(out_ / ".vcap-job" / name);
    for (int runs = 0;; ++runs) {
      ASSERT_LT(runs, 40) << "a run made no progress";
      const auto before = finished_in(out_);
      Watcher watcher;
      for (const auto& folder : {out_, out_ / ".vcap-job/videos", out_ / ".vcap-job/finished"})
        watcher.add(folder);
      for (const auto& video : fs::directory_iterator(out_ / ".vcap-job/videos"))
        watcher.add(video.path());
      Command command({"run", "--job", job({{"slices", 3}, {"parallel", 2}})});
      // Waits for more names each time, since unfinished work may be done again.
      const bool kill = watcher.wait_for(step + runs);
      if (kill) command.send(SIGKILL);
      const Result result = command.wait();
      for (const auto& [name, text] : outputs_in(out_))
        EXPECT_EQ(text, expected.at(name)) << name << " is not whole";
      const auto after = finished_in(out_);
      for (const auto& [note, time] : before)
        EXPECT_EQ(after.at(note), time) << note << " was done again";
      if (result.exit_code == 0) break;
      ASSERT_EQ(result.exit_code, 128 + SIGKILL) << result;
      ++kills;
    }
    EXPECT_EQ(outputs_in(out_), expected);
  }
  EXPECT_GE(kills, 8);
}

}  // namespace
}  // namespace vcap
