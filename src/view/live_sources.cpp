// SPDX-License-Identifier: Apache-2.0
#include "view/live_sources.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.hpp"
#include "files/url.hpp"
#include "view/live_routes.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto [end_of_folder, rest] = std::ranges::mismatch(folder, path);
  return end_of_folder == folder.end() && rest != path.end();
}

[[noreturn]] void refuse_source(const ViewSources& allowed, const std::string& name) {
  std::string text = "the source " + quote(without_password(name)) + " is not allowed";
  if (allowed.empty()) {
    text += "; the view was started without sources that may be added";
  } else {
    text += "; allowed are URLs of the schemes " + quote_list(allowed.schemes) +
            ", and files below " + quote_list(allowed.folders);
  }
  throw LiveRefusal(403, text, "source_not_allowed");
}

}  // namespace

std::unique_ptr<Source> open_allowed_source(const ViewSources& allowed, const std::string& name) {
  SourceOptions options = allowed.options;
  if (is_url(name)) {
    std::string scheme = name.substr(0, name.find(':'));
    std::ranges::transform(scheme, scheme.begin(), [](unsigned char c) {
      return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
    if (std::ranges::find(allowed.schemes, scheme) == allowed.schemes.end())
      refuse_source(allowed, name);
    options.connect_later = true;
    return open_source(name, options);
  }
  // The path that it leads to, so that a link cannot lead out of the folder. It is opened by that
  // path. What is not a path, such as "hls:…" or a webcam's number, does not exist as one.
  std::error_code error;
  const fs::path path = fs::canonical(name, error);
  if (error) refuse_source(allowed, name);
  const bool is_allowed = std::ranges::any_of(allowed.folders, [&](const std::string& folder) {
    const fs::path whole = fs::canonical(folder, error);
    return !error && (is_below(path, whole) || path == whole);
  });
  if (!is_allowed) refuse_source(allowed, name);
  return open_source(path.string(), options);
}

}  // namespace vcap
