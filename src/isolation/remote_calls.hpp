// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "isolation/call_context.hpp"
#include "isolation/capsule_call.hpp"
#include "isolation/capsule_link.hpp"
#include "isolation/wire.hpp"
#include "isolation/wire_exception.hpp"
#include "isolation/wire_values.hpp"

namespace vcap {

/// The host's calls of a capsule's code that is elsewhere. Each throws what the code throws, and
/// Error (misbehaving_capsule) for an answer that is none. Thread-safe.
class RemoteCalls {
 public:
  RemoteCalls(const std::string& capsule, const MakeLink& make_link);
  ~RemoteCalls();
  RemoteCalls(const RemoteCalls&) = delete;
  RemoteCalls& operator=(const RemoteCalls&) = delete;

  void give_files(const CapsuleFiles& files) const { link_->give_files(files); }

  template <class Result, class... Arguments>
  Result call(CapsuleCall what, const Arguments&... arguments) const {
    return result_of<Result>(link_->call(request(what, arguments...)));
  }
  /// For a call that has no result and may not throw: what goes wrong is in the log.
  template <class... Arguments>
  void end(CapsuleCall what, const Arguments&... arguments) const noexcept {
    try {
      call<void>(what, arguments...);
    } catch (...) {
      log_failure();
    }
  }
  /// `nullopt` if the code does not answer soon.
  template <class Result, class... Arguments>
  std::optional<Result> ask(CapsuleCall what, const Arguments&... arguments) const {
    constexpr std::chrono::milliseconds kPatience{20};
    const std::optional<WireMessage> answer = link_->ask(request(what, arguments...), kPatience);
    if (!answer) return {};
    return result_of<Result>(*answer);
  }

 private:
  class Observers;

  CallContext context() const;
  void log_failure() const noexcept;

  template <class... Arguments>
  WireMessage request(CapsuleCall what, const Arguments&... arguments) const {
    WireWriter request;
    request.choice(what, kLastCapsuleCall);
    request(context(), arguments...);
    return std::move(request).take();
  }
  template <class Result>
  Result result_of(const WireMessage& answer) const {
    WireReader reader(answer, subject_);
    bool has_thrown = false;
    reader(has_thrown);
    if (has_thrown) throw_exception(reader);
    if constexpr (std::is_void_v<Result>) {
      reader.end();
    } else {
      Result result{};
      reader(result);
      reader.end();
      return result;
    }
  }

  const std::string subject_;
  const std::shared_ptr<Observers> observers_;
  const std::unique_ptr<CapsuleLink> link_;  // ends before what it uses
};

}  // namespace vcap
