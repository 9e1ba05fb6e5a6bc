// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/closing_bound.hpp"
#include "vcap/capsule/capsule.hpp"

namespace vcap::cli {

/// The capsules that a command has loaded. Its destructor closes them one after the other, and
/// leaves the process with kHung if one does not return within the grace, named on standard error.
/// So it is destroyed after everything else that uses them. Thread safety: thread-compatible.
class LoadedCapsules {
 public:
  explicit LoadedCapsules(Clock::duration grace) : bound_(grace) {}
  ~LoadedCapsules();
  LoadedCapsules(const LoadedCapsules&) = delete;
  LoadedCapsules& operator=(const LoadedCapsules&) = delete;

  void set(std::vector<std::shared_ptr<Capsule>> capsules) { capsules_ = std::move(capsules); }
  void add(std::shared_ptr<Capsule> capsule) { capsules_.push_back(std::move(capsule)); }
  /// From now on, the end of what uses them is bounded, too. `what`: such as "the end of a stream".
  void begin_end(std::string what) { bound_.begin(std::move(what)); }
  const std::vector<std::shared_ptr<Capsule>>& all() const noexcept { return capsules_; }
  /// The names of those whose code runs now, as "capsule a, capsule b"; empty if there is none.
  std::string running() const;

 private:
  std::vector<std::shared_ptr<Capsule>> capsules_;
  ClosingBound bound_;
};

}  // namespace vcap::cli
