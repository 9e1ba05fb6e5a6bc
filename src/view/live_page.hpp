// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace vcap {

/// A file of the live view's page, in this library. Thread safety: value.
struct LivePageFile {
  const char* path;  ///< of the request, such as "/live.css"
  const char* type;  ///< its Content-Type
  std::string_view text;
};

/// The files of src/view/page, and Chart.js at "/chart.js".
std::span<const LivePageFile> live_page_files();

}  // namespace vcap
