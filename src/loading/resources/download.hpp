// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "vcap/loading/resources/resource_options.hpp"

namespace vcap {

/// What is fetched, and the open file that receives it.
struct Download {
  std::string url{};
  std::uint64_t size = 0;  ///< the expected size, and the most that is written
  int fd = -1;             ///< open for writing; existing content is continued
  std::string path{};      ///< of the file, for messages
};

/// Fetches with libcurl until the file has the size: https, file, and http on this machine only,
/// through the proxies of the environment. Follows at most 5 redirects, and never to a less safe
/// scheme. Retries temporary failures from the position reached: no connection, a stall, a broken
/// transfer, the statuses 408, 429 and 5xx. libcurl brings some 25 libraries; so it is linked by
/// libvcap_download, which is loaded by the first call. Throws ResourceFailure:
/// resource_unavailable, resource_mismatch for another length, resource_cache if writing fails.
/// Thread-safe.
void download(const Download& what, const ResourceOptions& options);

}  // namespace vcap
