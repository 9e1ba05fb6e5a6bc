// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "operations/parts.hpp"
#include "support/clip_writer.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace vcap::bench::operations {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

/// A folder of H.264 clips, made once: ten different clips, and copies of them.
fs::path clips(std::size_t count, int frames, cv::Size size = {320, 240}) {
  static const test::TemporaryFolder folder;
  const fs::path clips = folder / (std::to_string(count) + "x" + std::to_string(frames) + "x" +
                                   std::to_string(size.height));
  if (!fs::create_directories(clips)) return clips;
  constexpr std::size_t kDifferent = 10;
  const auto name = [&](std::size_t i) { return clips / ("clip" + std::to_string(i) + ".mp4"); };
  for (std::size_t i = 0; i < count; ++i)
    if (i < kDifferent)
      test::write_clip(name(i), {.size = size + cv::Size(16 * static_cast<int>(i), 0),
                                 .frames = frames,
                                 .options = {{"preset", "veryfast"}}});
    else
      fs::copy_file(name(i % kDifferent), name(i));
  return clips;
}

/// A job file over all clips, with its outputs beside it.
fs::path job(const fs::path& folder, const fs::path& clips, const nlohmann::json& slices = "auto") {
  fs::path file = folder / "job.json";
  std::ofstream(file) << nlohmann::json{
      {"schema", "vcap.job/1"},
      {"capsules", {test::built("examples/capsules/detector_person_hog/detector_person_hog.cap")}},
      {"sources", {clips.string() + "/"}},
      {"outputs", {{"folder", "out"}}},
      {"slices", slices}};
  return file;
}

std::vector<std::string> words_of(const fs::path& job) {
  return {test::built("src/cli/vcap"), "run", "--job", job.string()};
}

/// The peak memory of a job over the clips, in MiB.
double memory_of(const fs::path& clips) {
  const test::TemporaryFolder folder;
  return run_process(words_of(job(folder.path(), clips)));
}

Files outputs_in(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) {
      std::ifstream file(entry.path(), std::ios::binary);
      files.emplace(entry.path().filename(), std::string(std::istreambuf_iterator<char>(file), {}));
    }
  return files;
}

const std::size_t kClips = workload(200, 3);
const int kFramesOfClip = workload(20, 2);

double by_job() {
  const test::TemporaryFolder folder;
  const fs::path file = job(folder.path(), clips(kClips, kFramesOfClip));
  const double took = seconds([&] { run_process(words_of(file)); });
  if (outputs_in(folder / "out").size() != kClips)
    throw std::runtime_error("the job has not written all outputs");
  return took;
}

/// A shell loop: one process for each clip, as many at once as cores.
double by_shell() {
  const test::TemporaryFolder folder;
  const std::string command =
      "ls '" + clips(kClips, kFramesOfClip).string() + "' | xargs -P " + std::to_string(cores()) +
      " -I{} '" + test::built("src/cli/vcap") + "' run --capsule '" +
      test::built("examples/capsules/detector_person_hog/detector_person_hog.cap") +
      "' --source '" + clips(kClips, kFramesOfClip).string() + "/{}' --jsonl '" +
      folder.path().string() + "/{}.jsonl'";
  const double took = seconds([&] { run_process({"/bin/sh", "-c", command}); });
  if (outputs_in(folder.path()).size() != kClips)
    throw std::runtime_error("the shell has not written all outputs");
  return took;
}

/// The times at which the notes of finished videos were written.
std::map<std::string, fs::file_time_type> finished_in(const fs::path& out) {
  std::map<std::string, fs::file_time_type> notes;
  const fs::path folder = out / ".vcap-job" / "finished";
  if (fs::exists(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      notes.emplace(entry.path().filename(), entry.last_write_time());
  return notes;
}

/// Kills such a job at 50 random moments and resumes it each time. Counts the outputs that differ
/// from those of an undisturbed run, and the finished videos that were done again.
double wrong_after_kills() {
  const int kKills = workload(50, 2);
  constexpr int kSlices = 2;
  const test::TemporaryFolder reference;
  const double undisturbed = seconds(
      [&] { run_process(words_of(job(reference.path(), clips(kClips, kFramesOfClip), kSlices))); });
  const Files expected = outputs_in(reference / "out");

  std::mt19937 random(50);
  int wrong = 0;
  for (int kills = 0; kills < kKills;) {
    const test::TemporaryFolder folder;
    const fs::path file = job(folder.path(), clips(kClips, kFramesOfClip), kSlices);
    const fs::path out = folder / "out";
    for (bool is_done = false; !is_done;) {
      const auto before = finished_in(out);
      Process process(words_of(file));
      // The times are short, so that all kills fall into one run of the job if possible.
      if (kills < kKills) {
        std::this_thread::sleep_for(std::chrono::duration<double>(
            std::uniform_real_distribution(0.0, 3 * undisturbed / kKills)(random)));
        process.kill();
      }
      const int status = process.wait().status;
      if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        ++kills;
      else if (status != 0)
        throw std::runtime_error("the job failed");
      else
        is_done = true;
      const auto after = finished_in(out);
      for (const auto& [note, time] : before)
        if (!after.contains(note) || after.at(note) != time) ++wrong;
    }
    const Files outputs = outputs_in(out);
    for (const auto& [name, text] : expected)
      if (!outputs.contains(name) || outputs.at(name) != text) ++wrong;
    if (outputs.size() != expected.size()) ++wrong;
  }
  return wrong;
}

}  // namespace

std::vector<Figure> jobs() {
  const auto memory = [](const std::string& what, auto most, auto least) {
    return Figure{.id = "operations.3",
                  .what = "peak memory of a job, " + what,
                  .target = 1.1,
                  .sample = [=] { return ratio(most, least); },
                  .samples = 3};
  };
  return {{.id = "operations.3",
           .what = "a job of 200 clips with detector_person_hog, rate of a shell loop on all cores",
           .target = 0.95,
           .better = Better::higher,
           .sample = [] { return ratio(by_shell, by_job); },
           .samples = 3},
          memory(
              "200 clips to 20", [] { return memory_of(clips(kClips, kFramesOfClip)); },
              [] { return memory_of(clips(workload(20, 2), kFramesOfClip)); }),
          memory(
              "clips of 12,000 frames to 20",
              [] {
                return memory_of(clips(4, workload(12'000, 40), {64, 128}));
              },
              [] {
                return memory_of(clips(4, 20, {64, 128}));
              }),
          {.id = "operations.3",
           .what = "a job of 200 clips with detector_person_hog, seconds",
           .target = 60,
           .sample = by_job,
           .samples = 3},
          {.id = "operations.3",
           .what = "peak memory of a job of 200 clips, MiB",
           .target = 100,
           .sample = [] { return memory_of(clips(kClips, kFramesOfClip)); },
           .samples = 3},
          {.id = "operations.3",
           .what = "peak memory of a job of clips of 12,000 frames, MiB",
           .target = 100,
           .sample =
               [] {
                 return memory_of(clips(4, workload(12'000, 40), {64, 128}));
               },
           .samples = 3},
          {.id = "operations.4",
           .what = "outputs that are wrong, and videos done twice, after 50 kills (kill -9)",
           .target = 0,
           .sample = wrong_after_kills,
           .samples = 1}};
}

}  // namespace vcap::bench::operations
