// SPDX-License-Identifier: Apache-2.0
#include "loading/resources/download.hpp"

#include "files/own_library.hpp"
#include "loading/resources/resource_failure.hpp"

namespace vcap {

void download(const Download& what, const ResourceOptions& options) {
  static const OwnFunction found = find_own_function("download", "vcap_download_1");
  if (found.address == nullptr)
    throw ResourceFailure(ErrorCode::resource_unavailable, found.failure);
  using Function = void (*)(const Download&, const ResourceOptions&);
  reinterpret_cast<Function>(found.address)(what, options);
}

}  // namespace vcap
