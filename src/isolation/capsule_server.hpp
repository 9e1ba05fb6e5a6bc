// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "isolation/capsule_call.hpp"
#include "isolation/capsule_link.hpp"
#include "isolation/numbered_objects.hpp"
#include "isolation/wire.hpp"
#include "loading/capsule_code.hpp"
#include "vcap/base/export.hpp"
#include "vcap/capsule/backend.hpp"
#include "vcap/capsule/capsule_files.hpp"
#include "vcap/capsule/stream_state.hpp"
#include "vcap/model/option_values.hpp"

namespace vcap {

/// The side of the capsule's code: owns the author's objects, which the host knows by numbers, and
/// calls them as requests say. The host keeps the order of calls that BaseCapsule and Backend
/// promise. Thread safety: answer() is thread-safe, the rest thread-compatible.
class VCAP_EXPORT CapsuleServer {
 public:
  CapsuleServer(CapsuleCode code, TakeNotice notify);
  ~CapsuleServer();
  CapsuleServer(const CapsuleServer&) = delete;
  CapsuleServer& operator=(const CapsuleServer&) = delete;

  /// What the author's code sees; no backend is loaded yet.
  void give_files(CapsuleFiles files) { files_ = std::move(files); }

  /// Runs the author's code in this thread. What it throws is in the answer.
  WireMessage answer(const WireMessage& request);

 private:
  class Observers;

  /// A backend, and who calls it. Frames do not count: the host waits for them itself.
  struct Served;

  WireMessage perform(CapsuleCall call, WireReader& arguments);
  WireMessage call_author(CapsuleCall call, WireReader& arguments);
  WireMessage call_backend(CapsuleCall call, WireReader& arguments);
  WireMessage call_state(CapsuleCall call, WireReader& arguments);
  WireMessage process(CapsuleCall call, Backend& backend, WireReader& arguments);
  BaseCapsule& author() const;
  BaseStreamState& state(WireId number);

  const CapsuleInfo info_;
  const std::string subject_;  ///< for messages
  const OptionValues defaults_;
  std::unique_ptr<BaseCapsule> author_;  // outlives its backends; they outlive the states
  CapsuleFiles files_{};
  const std::shared_ptr<Observers> observers_;  ///< of the host
  NumberedObjects<Served> backends_{};
  NumberedObjects<BaseStreamState> states_{};  ///< parameters of streams, too
  BaseStreamState no_state_{};  ///< what the backend of a capsule without either gets
};

}  // namespace vcap
