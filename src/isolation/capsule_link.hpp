// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "isolation/wire.hpp"
#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_files.hpp"

namespace vcap {

/// Carries the calls of a host to the code of one capsule. Thread safety: thread-safe, except for
/// the destructor.
class VCAP_EXPORT CapsuleLink {
 public:
  CapsuleLink() = default;
  CapsuleLink(const CapsuleLink&) = delete;
  CapsuleLink& operator=(const CapsuleLink&) = delete;
  virtual ~CapsuleLink();

  /// The files that the author's code sees from now on.
  virtual void give_files(const CapsuleFiles& files) = 0;
  /// Waits for the answer. Requests of several threads are answered at the same time, so that
  /// batches form. Throws Error (misbehaving_capsule) if none will come.
  virtual WireMessage call(WireMessage request) = 0;
  /// The same, but waits only so long, and then gives up the answer.
  virtual std::optional<WireMessage> ask(WireMessage request,
                                         std::chrono::milliseconds patience) = 0;
};

/// Gets the notices of the capsule's code (CapsuleNotice). Must not throw. [any thread, concurrent;
/// those of one thread in their order]
using TakeNotice = std::function<void(const WireMessage&)>;
using MakeLink = std::function<std::unique_ptr<CapsuleLink>(TakeNotice)>;

}  // namespace vcap
