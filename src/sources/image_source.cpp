// SPDX-License-Identifier: Apache-2.0
#include "sources/image_source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <utility>

#include <opencv2/core.hpp>

#include "media/opencv_io.hpp"
#include "sources/file_list.hpp"
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

cv::Mat load_image(const fs::path& file) {
  std::string reason = "it is damaged, or its format is not supported";
  try {
    cv::Mat image = opencv_io().read_image(file);
    if (!image.empty()) return image;
  } catch (const cv::Exception& error) {
    reason = error.err;
  }
  throw SourceError(ErrorCode::source_read, "image " + file.string() + " cannot be read: " +
                                                reason + "; repair or remove it");
}

/// Images in their order; images have no times of their own.
class StoredImages final : public StoredIndex, public std::enable_shared_from_this<StoredImages> {
 public:
  StoredImages(std::vector<fs::path> files, std::string description)
      : files_(std::move(files)), description_(std::move(description)) {}

  SourceInfo info() const {
    return {.description = description_, .frames_per_second = kImagesPerSecond, .frames = size()};
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  nanoseconds time(std::int64_t number) const override {
    return nanoseconds(std::chrono::seconds(1)) * number / kImagesPerSecond;
  }
  cv::Mat picture(std::int64_t number) const {
    return load_image(files_[static_cast<std::size_t>(number)]);
  }
  std::unique_ptr<StoredFrames> open(std::stop_token stop) const override;

 private:
  const std::vector<fs::path> files_;
  const std::string description_;
};

class ImageFrames final : public StoredFrames {
 public:
  explicit ImageFrames(std::shared_ptr<const StoredImages> images) : images_(std::move(images)) {}

  SourceInfo info() const override { return images_->info(); }
  bool seek(nanoseconds time) override {
    // The first image at or after that time; there is none beyond the last.
    const auto duration = images_->time(1).count();
    const std::int64_t image = time.count() / duration + (time.count() % duration != 0);
    present_ = std::min(image, images_->size());
    return present_ < images_->size();
  }
  bool next() override {
    if (present_ < images_->size()) ++present_;
    return present_ < images_->size();
  }
  nanoseconds time() const override { return images_->time(present_); }
  cv::Mat picture() override { return images_->picture(present_); }
  std::shared_ptr<const StoredIndex> index() override { return images_; }
  bool go_to(std::int64_t number, std::optional<std::int64_t> /*following*/) override {
    present_ = number;
    return true;
  }

 private:
  const std::shared_ptr<const StoredImages> images_;
  std::int64_t present_ = 0;
};

std::unique_ptr<StoredFrames> StoredImages::open(std::stop_token /*stop*/) const {
  return std::make_unique<ImageFrames>(shared_from_this());
}

std::string known_extensions() {
  std::string text;
  for (const std::string_view extension : kExtensions) {
    if (!text.empty()) text += ' ';
    text += extension;
  }
  return text;
}

}  // namespace

bool is_image_file(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

std::unique_ptr<Source> open_image_files(std::vector<fs::path> files, std::string description,
                                         const SourceOptions& options) {
  const auto images =
      std::make_shared<const StoredImages>(std::move(files), std::move(description));
  return make_stored_source(images->open({}), options, std::stop_source());
}

std::unique_ptr<Source> open_image_folder(const fs::path& folder, const SourceOptions& options) {
  std::vector<fs::path> files = files_in(folder);
  std::erase_if(files, [](const fs::path& file) { return !is_image_file(file); });
  if (files.empty())
    throw SourceError(
        ErrorCode::source_empty,
        "folder " + folder.string() + " has no images (supported: " + known_extensions() + ")");
  return open_image_files(std::move(files), "images in " + folder.string(), options);
}

std::unique_ptr<Source> open_image_glob(const std::string& pattern, const SourceOptions& options) {
  std::vector<fs::path> files = files_matching(pattern);
  if (files.empty())
    throw SourceError(ErrorCode::source_empty,
                      "no file matches " + pattern + "; check the folder and the pattern");
  return open_image_files(std::move(files), "images " + pattern, options);
}

}  // namespace vcap
