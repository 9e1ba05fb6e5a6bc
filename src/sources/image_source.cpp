// SPDX-License-Identifier: Apache-2.0
#include "sources/image_source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

#include <opencv2/core.hpp>

#include "base/text.hpp"
#include "files/file_list.hpp"
#include "media/image_size.hpp"
#include "media/opencv_io.hpp"
#include "sources/broken_log.hpp"
#include "sources/stored_source.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

constexpr std::array<std::string_view, 12> kExtensions{".bmp", ".jp2", ".jpeg", ".jpg",
                                                       ".pbm", ".pgm", ".png",  ".pnm",
                                                       ".ppm", ".tif", ".tiff", ".webp"};
constexpr std::int64_t kImagesPerSecond = 25;

/// The folder of a glob before its first wildcard, with its slash: "shots/" of "shots/*/*.png".
std::string fixed_part(const std::string& pattern) {
  const std::size_t slash = pattern.rfind('/', pattern.find_first_of("*?[\\"));
  return slash == std::string::npos ? std::string() : pattern.substr(0, slash + 1);
}

/// An image, or why there is none. Thread safety: value.
struct LoadedImage {
  cv::Mat pixels{};           ///< empty if the file cannot be read
  std::string why{};          ///< a part of a sentence about the file
  bool is_too_large = false;  ///< more pixels than are allowed
};

LoadedImage too_large(const ImageSize& size, std::int64_t max_pixels) {
  return {.why = "it has " + std::to_string(size.width) + " × " + std::to_string(size.height) +
                 " pixels, more than " + std::to_string(max_pixels) +
                 " (SourceOptions::max_pixels)",
          .is_too_large = true};
}

LoadedImage load_image(const fs::path& file, std::int64_t max_pixels) {
  const auto is_beyond = [max_pixels](const ImageSize& size) {
    return size.pixels() > static_cast<std::uint64_t>(max_pixels);
  };
  // Before a decoder takes memory for it, and only for the formats that are documented.
  const std::optional<ImageSize> size = read_image_size(file);
  if (size && is_beyond(*size)) return too_large(*size, max_pixels);
  LoadedImage loaded{.why = "it is damaged, or its format is not supported"};
  if (!size) return loaded;
  try {
    loaded.pixels = opencv_io().read_image(file);
  } catch (const cv::Exception& error) {
    loaded.why = error.err;
    return loaded;
  }
  const ImageSize given{static_cast<std::uint64_t>(loaded.pixels.cols),
                        static_cast<std::uint64_t>(loaded.pixels.rows)};
  return is_beyond(given) ? too_large(given, max_pixels) : loaded;
}

/// Images in their order; images have no times of their own.
class StoredImages final : public StoredIndex, public std::enable_shared_from_this<StoredImages> {
 public:
  /// `folder`: the beginning that Frame::source_file leaves out; empty: all but the file's name.
  StoredImages(std::vector<fs::path> files, std::string folder, std::string description,
               std::int64_t max_pixels)
      : files_(std::move(files)),
        folder_(std::move(folder)),
        description_(std::move(description)),
        max_pixels_(max_pixels) {}

  SourceInfo info() const {
    return {.description = description_, .frames_per_second = kImagesPerSecond, .frames = size()};
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  nanoseconds time(std::int64_t number) const override {
    return nanoseconds(std::chrono::seconds(1)) * number / kImagesPerSecond;
  }
  LoadedImage load(std::int64_t number) const { return load_image(file(number), max_pixels_); }
  const fs::path& file(std::int64_t number) const {
    return files_[static_cast<std::size_t>(number)];
  }
  /// The value of Frame::source_file.
  std::string name(std::int64_t number) const {
    const fs::path& path = file(number);
    if (folder_.empty() || !path.native().starts_with(folder_)) return path.filename().string();
    return path.native().substr(folder_.size());
  }
  std::unique_ptr<StoredFrames> open(std::stop_token stop) const override;

 private:
  const std::vector<fs::path> files_;
  const std::string folder_;
  const std::string description_;
  const std::int64_t max_pixels_;
};

/// Skips files that cannot be read, or that are too large if another one follows. By their numbers
/// they stay images: one of them is then not as indexed.
class ImageFrames final : public StoredFrames {
 public:
  ImageFrames(std::shared_ptr<const StoredImages> images, std::stop_token stop)
      : images_(std::move(images)), stop_(std::move(stop)), broken_(images_->info().description) {}

  SourceInfo info() const override { return images_->info(); }
  bool seek(nanoseconds time) override {
    // The first image at or after that time; there is none beyond the last.
    const auto duration = images_->time(1).count();
    const std::int64_t image = time.count() / duration + (time.count() % duration != 0);
    return go_on_from(std::min(image, images_->size()));
  }
  bool next() override { return go_on_from(std::min(present_ + 1, images_->size())); }
  nanoseconds time() const override { return images_->time(present_); }
  bool follows_damage() const override { return follows_damage_; }
  BrokenPictures take_broken() override { return broken_.take(); }
  cv::Mat picture() override { return picture_; }
  std::string file() const override { return images_->name(present_); }
  std::shared_ptr<const StoredIndex> index() override { return images_; }
  bool has_ready_index() const override { return true; }
  bool go_to(std::int64_t number, std::optional<std::int64_t> /*following*/) override {
    follows_damage_ = false;
    present_ = number;
    LoadedImage loaded = images_->load(number);
    picture_ = std::move(loaded.pixels);
    if (picture_.empty())
      throw SourceError(ErrorCode::source_not_as_indexed,
                        "image " + images_->file(number).string() +
                            " cannot be read: " + loaded.why +
                            "; repair or remove it, or read all images in order, which skips it");
    return true;
  }

 private:
  /// Goes to the first image from that number on that can be read; false if there is none, or if
  /// stopped. As for a video: throws SourceError if one was too large and no other follows.
  bool go_on_from(std::int64_t number) {
    follows_damage_ = false;
    std::string refusal;
    for (present_ = number; present_ < images_->size() && !stop_.stop_requested(); ++present_) {
      LoadedImage loaded = images_->load(present_);
      picture_ = std::move(loaded.pixels);
      if (!picture_.empty()) return true;
      follows_damage_ = true;
      const fs::path& file = images_->file(present_);
      if (loaded.is_too_large) refusal = "image " + file.string() + ": " + loaded.why;
      broken_.skip(file.filename().string(), loaded.why);
    }
    if (!refusal.empty() && !stop_.stop_requested())
      throw SourceError(ErrorCode::source_read,
                        refusal + "; scale it down, or raise the bound if you trust it");
    return false;
  }

  const std::shared_ptr<const StoredImages> images_;
  const std::stop_token stop_;
  BrokenLog broken_;
  std::int64_t present_ = 0;
  cv::Mat picture_;
  bool follows_damage_ = false;
};

std::unique_ptr<StoredFrames> StoredImages::open(std::stop_token stop) const {
  return std::make_unique<ImageFrames>(shared_from_this(), std::move(stop));
}

std::string known_extensions() {
  std::string text;
  for (const std::string_view extension : kExtensions) {
    if (!text.empty()) text += ' ';
    text += extension;
  }
  return text;
}

/// A frame for each image, in the order given.
std::unique_ptr<Source> open_image_files(std::vector<fs::path> files, std::string folder,
                                         std::string description, const SourceOptions& options) {
  const auto images = std::make_shared<const StoredImages>(
      std::move(files), std::move(folder), std::move(description), options.max_pixels);
  const std::stop_source stop;
  return make_stored_source(images->open(stop.get_token()), options, stop);
}

}  // namespace

bool is_image_file(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

std::unique_ptr<Source> open_image_file(const fs::path& file, const SourceOptions& options) {
  return open_image_files({file}, {}, "image " + file.string(), options);
}

std::unique_ptr<Source> open_image_folder(const fs::path& folder, const SourceOptions& options) {
  std::vector<fs::path> files = files_in(folder);
  const auto videos = std::ranges::count_if(files, is_video_file);
  std::erase_if(files, [](const fs::path& file) { return !is_image_file(file); });
  if (files.empty() && videos > 0)
    throw SourceError(ErrorCode::source_empty,
                      "folder " + folder.string() + " has no images, but " +
                          counted(videos, "video") +
                          "; open each video as a source, or run the folder as a job (run_job(), "
                          "vcap run --out FOLDER)");
  if (files.empty())
    throw SourceError(
        ErrorCode::source_empty,
        "folder " + folder.string() + " has no images (supported: " + known_extensions() + ")");
  return open_image_files(std::move(files), {}, "images in " + folder.string(), options);
}

std::unique_ptr<Source> open_image_glob(const std::string& pattern, const SourceOptions& options) {
  std::vector<fs::path> files = files_matching(pattern);
  if (files.empty())
    throw SourceError(ErrorCode::source_empty,
                      "no file matches " + pattern + "; check the folder and the pattern");
  return open_image_files(std::move(files), fixed_part(pattern), "images " + pattern, options);
}

}  // namespace vcap
