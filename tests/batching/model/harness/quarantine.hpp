// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::model {

/// While a Quarantine lives, freed memory is filled with a pattern and is not reused, so that a use
/// after free is found. Only one may live at a time. Thread safety: thread-compatible.
class Quarantine {
 public:
  Quarantine() noexcept;
  ~Quarantine();
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;
};

}  // namespace vcap::model
