// SPDX-License-Identifier: Apache-2.0
#include "vcap/sources/source.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "files/url.hpp"
#include "sources/file_list.hpp"
#include "sources/image_source.hpp"
#include "sources/stored_source.hpp"
#include "sources/video_source.hpp"
#include "sources/webcam_source.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/random_access.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 6 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

Source::~Source() = default;
void Source::interrupt() noexcept {}
std::shared_ptr<const RandomAccess> Source::random_access() { return nullptr; }
RandomAccess::~RandomAccess() = default;
bool RandomAccess::is_null(std::int64_t) const { return false; }

std::unique_ptr<Source> open_source(const std::string& name, const SourceOptions& options) {
  check(options);
  if (name.empty())
    throw SourceError(ErrorCode::source_open,
                      "the source has no name; give a video file, a webcam's index, a URL, a "
                      "folder of images or a glob of them");
  std::error_code failed;
  const fs::file_status status = fs::status(name, failed);
  // An existing path has priority, even a file called "0" or "a[1].avi".
  if (fs::is_directory(status)) return open_image_folder(name, options);
  if (fs::exists(status))
    return is_image_file(name) ? open_image_files({name}, "image " + name, options)
                               : open_video_file(name, options);
  if (is_number(name)) return open_webcam(std::stoi(name), options);
  if (is_url(name)) return open_url(name, options);
  if (is_glob(name)) return open_image_glob(name, options);
  throw SourceError(ErrorCode::source_open,
                    "source " + name + " does not exist" +
                        (failed && failed != std::errc::no_such_file_or_directory
                             ? " or cannot be reached (" + failed.message() + ")"
                             : std::string()) +
                        "; give a video file, a webcam's index, a URL, a folder of images or a "
                        "glob of them");
}

}  // namespace vcap
