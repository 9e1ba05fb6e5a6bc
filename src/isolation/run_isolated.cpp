// SPDX-License-Identifier: Apache-2.0
#include "loading/run_isolated.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "isolation/remote_capsule.hpp"
#include "isolation/thread_link.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

CapsuleCode run_isolated(const std::function<CapsuleCode()>& run) {
  const char* const wanted = std::getenv("VCAP_ISOLATION");
  const std::string_view mode = wanted == nullptr ? "" : wanted;
  if (mode.empty() || mode == "in_process") return run();
  if (mode != "thread")
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "VCAP_ISOLATION is " + quote(mode) + "; set it to in_process or thread");
  CapsuleCode code = run();
  CapsuleInfo info = code.info;
  return remote_capsule(std::move(info), thread_link(std::move(code)));
}

}  // namespace vcap
