// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/base/export.hpp"
#include "vcap/loading/resources/resource_options.hpp"

namespace vcap {

/// While it lives, fetch_once() of this thread uses these options, which it borrows. Thread safety:
/// belongs to one thread.
class VCAP_EXPORT ResourceScope {
 public:
  explicit ResourceScope(const ResourceOptions& options) noexcept;
  ResourceScope(const ResourceScope&) = delete;
  ResourceScope& operator=(const ResourceScope&) = delete;
  ~ResourceScope();

  /// The options of this thread's scope; the defaults if there is none.
  static ResourceOptions current();

 private:
  const ResourceOptions* const before_;
};

}  // namespace vcap
