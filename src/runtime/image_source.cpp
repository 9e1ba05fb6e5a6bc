// SPDX-License-Identifier: Apache-2.0
#include "runtime/image_source.hpp"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <utility>

#include <opencv2/imgcodecs.hpp>

#include "runtime/stored_source.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

constexpr std::array<std::string_view, 12> kExtensions{".bmp", ".jp2", ".jpeg", ".jpg",
                                                       ".pbm", ".pgm", ".png",  ".pnm",
                                                       ".ppm", ".tif", ".tiff", ".webp"};
constexpr std::int64_t kImagesPerSecond = 25;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_number(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(number.size());
  // Without its zeros, the longer number is the greater one, whatever its length.
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

/// Below, equal or above 0, numbers as numbers.
int natural_compare(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = take_number(a);
      const std::string_view y = take_number(b);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
      if (const int order = x.compare(y); order != 0) return order;
    } else {
      if (a.front() != b.front())
        return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front()) ? -1
                                                                                             : 1;
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

cv::Mat load_image(const fs::path& file) {
  std::string reason = "it is broken, or no image of a known form";
  try {
    // 8 bit and BGR, whatever the file holds.
    cv::Mat image = cv::imread(file.string(), cv::IMREAD_COLOR);
    if (!image.empty()) return image;
  } catch (const cv::Exception& error) {
    reason = error.err;
  }
  throw SourceError(ErrorCode::source_read, "image " + file.string() + " cannot be read: " +
                                                reason + "; repair it or take it out");
}

class ImageFrames final : public StoredFrames {
 public:
  ImageFrames(std::vector<fs::path> files, std::string description)
      : files_(std::move(files)), description_(std::move(description)) {}

  SourceInfo info() const override {
    return {.description = description_,
            .frames_per_second = kImagesPerSecond,
            .frames = static_cast<std::int64_t>(files_.size())};
  }
  bool seek(nanoseconds time) override {
    // The first whose time is not before it; beyond the last there is none.
    const auto duration = time_of(1).count();
    const auto image =
        static_cast<std::size_t>(time.count() / duration + (time.count() % duration != 0));
    present_ = std::min(image, files_.size());
    return present_ < files_.size();
  }
  bool next() override {
    if (present_ < files_.size()) ++present_;
    return present_ < files_.size();
  }
  nanoseconds time() const override { return time_of(present_); }
  cv::Mat picture() override { return load_image(files_[present_]); }

 private:
  static nanoseconds time_of(std::size_t image) {
    return nanoseconds(std::chrono::seconds(1)) * static_cast<std::int64_t>(image) /
           kImagesPerSecond;
  }

  const std::vector<fs::path> files_;
  const std::string description_;
  std::size_t present_ = 0;
};

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

bool natural_less(std::string_view a, std::string_view b) {
  const int order = natural_compare(a, b);
  return order != 0 ? order < 0 : a < b;
}

std::unique_ptr<Source> open_image_files(std::vector<fs::path> files, std::string description,
                                         const SourceOptions& options) {
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.native(), b.native());
  });
  return make_stored_source(std::make_unique<ImageFrames>(std::move(files), std::move(description)),
                            options, std::stop_source());
}

std::unique_ptr<Source> open_image_folder(const fs::path& folder, const SourceOptions& options) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    // Hidden files are some tool's business ("._shot.jpg"), not the operator's images.
    const bool hidden = at->path().filename().native().front() == '.';
    std::error_code unknown;
    if (!hidden && is_image_file(at->path()) && at->is_regular_file(unknown))
      files.push_back(at->path());
  }
  if (failed)
    throw SourceError(ErrorCode::source_open, "folder " + folder.string() + " cannot be read: " +
                                                  failed.message() + "; check its permissions");
  if (files.empty())
    throw SourceError(
        ErrorCode::source_empty,
        "folder " + folder.string() + " has no images (known are " + known_extensions() + ")");
  return open_image_files(std::move(files), "images in " + folder.string(), options);
}

std::unique_ptr<Source> open_image_glob(const std::string& pattern, const SourceOptions& options) {
  glob_t found{};
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<fs::path> files;
  for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i) {
    std::error_code unknown;
    if (fs::is_regular_file(found.gl_pathv[i], unknown)) files.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  if (files.empty())
    throw SourceError(ErrorCode::source_empty,
                      "no file matches " + pattern + "; check the folder and the pattern");
  return open_image_files(std::move(files), "images " + pattern, options);
}

}  // namespace vcap
