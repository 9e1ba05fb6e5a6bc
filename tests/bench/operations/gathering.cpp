// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "operations/parts.hpp"
#include "support/clip_writer.hpp"
#include "support/seen_frames.hpp"
#include "support/temporary_folder.hpp"

namespace vcap::bench::operations {
namespace {

constexpr int kClipFrames = 1000;

/// H.264 with defaults of x264, but its preset is veryfast and every fiftieth frame is a keyframe.
std::string clip() {
  static const test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "clip.mp4";
  if (!std::filesystem::exists(path))
    test::write_clip(path, {.size = workload(cv::Size(640, 360), cv::Size(160, 90)),
                            .frames = kClipFrames,
                            .options = {{"preset", "veryfast"},
                                        {"x264-params", "keyint=50:min-keyint=50:scenecut=0"}}});
  return path;
}

/// One row of each hundred, at a random place, so that keyframes are as likely as other frames.
std::vector<std::int64_t> lone_rows() {
  std::mt19937 random(2);
  std::vector<std::int64_t> rows;
  for (std::int64_t from = 0; from < kClipFrames; from += 100)
    rows.push_back(from + std::uniform_int_distribution<std::int64_t>(0, 99)(random));
  return rows;
}

std::vector<std::int64_t> evenly_spaced() {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < kClipFrames; row += 100) rows.push_back(row);
  return rows;
}

/// Ten neighbouring rows of each thousand, in the middle of a group of pictures.
std::vector<std::int64_t> neighbours() {
  std::vector<std::int64_t> rows;
  for (std::int64_t from = 520; from < kClipFrames; from += 1000)
    for (std::int64_t row = from; row < from + 10; ++row) rows.push_back(row);
  return rows;
}

/// The hashes of the frames that the sampler gives.
std::vector<std::uint64_t> hashes(const Sampler& sampler) {
  std::vector<std::uint64_t> hashes;
  for (const test::SeenFrame& frame : test::read_frames(*open_source(clip(), {.sampler = sampler})))
    hashes.push_back(frame.pixels);
  return hashes;
}

/// Throws if the gathered frames differ from those of the whole clip.
void check(const std::vector<std::int64_t>& rows) {
  static const std::vector<std::uint64_t> all = hashes(Sampler::all());
  std::vector<std::uint64_t> expected;
  for (const std::int64_t row : rows) expected.push_back(all.at(static_cast<std::size_t>(row)));
  if (hashes(Sampler::gather(rows)) != expected)
    throw std::runtime_error("gathered frames are not those of the clip");
}

/// The time of a read, with opening the clip and indexing its keyframes.
double reading(const Sampler& sampler) {
  return seconds([&] {
    const std::unique_ptr<Source> source = open_source(clip(), {.sampler = sampler});
    while (source->read()) {
    }
  });
}

}  // namespace

std::vector<Figure> gathering() {
  const auto line = [](const std::string& which, const std::vector<std::int64_t>& rows) {
    return Figure{.id = "operations.2",
                  .what = "reading all of an H.264 clip, time of gathering 1 % of it, " + which,
                  .target = 10,
                  .better = Better::higher,
                  .sample =
                      [rows] {
                        check(rows);
                        return ratio([] { return reading(Sampler::all()); },
                                     [&] { return reading(Sampler::gather(rows)); });
                      },
                  .samples = 5};
  };
  return {line("every hundredth frame", evenly_spaced()), line("ten neighbours", neighbours()),
          line("random frames, one in each hundred", lone_rows())};
}

}  // namespace vcap::bench::operations
