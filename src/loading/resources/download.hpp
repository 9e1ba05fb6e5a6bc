// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/loading/resources/resource_options.hpp"

namespace vcap {

/// What is fetched, and the open file that it goes to.
struct Download {
  std::string url{};
  std::uint64_t size = 0;  ///< what must come, and the most that is written
  int fd = -1;             ///< open for writing; what it holds already is continued
  std::string path{};      ///< of the file, for messages
};

/// Fetches until the file has the size, by libcurl: https, file, and http within this machine;
/// through the proxies that the environment names; redirects no more than 5 times, and never to a
/// less safe scheme. Tries again, from where it was, what may pass: no connection, a stall, a
/// broken transfer, the statuses 408, 429 and 5xx. Throws ResourceFailure: resource_unavailable,
/// resource_mismatch for another length, resource_cache where writing fails. Thread-safe.
VCAP_EXPORT void download(const Download& what, const ResourceOptions& options);

}  // namespace vcap
