// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::model {

/// While one lives, memory that is given back is filled with rubbish and handed out to nobody, so
/// that whoever still uses it is found out. One at a time. Thread safety: thread-compatible.
class Quarantine {
 public:
  Quarantine() noexcept;
  ~Quarantine();
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;
};

}  // namespace vcap::model
