// SPDX-License-Identifier: Apache-2.0
#include "vcap/sources/source.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "files/file_list.hpp"
#include "files/url.hpp"
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

/// A source that names its form, such as "hls:playlist.m3u8": for playlists, which are opened only
/// so. Null if the name has no such prefix.
std::unique_ptr<Source> open_by_form(const std::string& name, const SourceOptions& options) {
  constexpr std::string_view kHls = "hls:";
  constexpr std::string_view kFfconcat = "ffconcat:";
  const bool is_hls = name.starts_with(kHls);
  if (!is_hls && !name.starts_with(kFfconcat)) return nullptr;
  const std::string rest = name.substr((is_hls ? kHls : kFfconcat).size());
  if (is_hls && is_url(rest)) {
    if (rest.starts_with("http://") || rest.starts_with("https://"))
      return open_hls_url(rest, options);
    throw SourceError(ErrorCode::source_open, "source " + name +
                                                  ": a playlist on a server has an address that "
                                                  "begins with http:// or https://");
  }
  std::error_code failed;
  if (!fs::is_regular_file(rest, failed))
    throw SourceError(ErrorCode::source_open,
                      "source " + name + ": there is no file " + rest +
                          "; give a playlist's file, or after hls: its http(s) address");
  return is_hls ? open_hls_file(rest, options) : open_ffconcat_file(rest, options);
}

}  // namespace

Source::~Source() = default;
void Source::interrupt() noexcept {}
BrokenPictures Source::broken_pictures() const { return {}; }

std::optional<SourceState> Source::state() const { return std::nullopt; }
std::shared_ptr<const RandomAccess> Source::random_access() { return nullptr; }
RandomAccess::~RandomAccess() = default;
bool RandomAccess::is_null(std::int64_t) const { return false; }
std::int64_t RandomAccess::seek_point(std::int64_t row) const { return row; }

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
    return is_image_file(name) ? open_image_file(name, options) : open_video_file(name, options);
  if (is_number(name)) return open_webcam(std::stoi(name), options);
  if (auto by_form = open_by_form(name, options)) return by_form;
  if (is_url(name)) return open_url(name, options);
  if (name == "-")
    throw SourceError(ErrorCode::source_open,
                      "source -: vcap does not read videos from standard input; write the video to "
                      "a file, or offer it at a URL, and give that");
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
