// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "isolation/call_context.hpp"
#include "isolation/capsule_call.hpp"
#include "isolation/capsule_link.hpp"
#include "isolation/wire.hpp"
#include "isolation/wire_exception.hpp"
#include "isolation/wire_values.hpp"

namespace vcap {

/// What the code was asked for, if it has answered. Thread safety: value.
template <class Value>
struct Asked {
  bool is_answered = false;
  Value value{};
};

template <class Value>
void wire_fields(WireReader& wire, Asked<Value>& asked) {
  wire(asked.is_answered);
  if (asked.is_answered) wire(asked.value);
}

/// The host's calls of a capsule's code that is elsewhere. Each throws what the code throws, and
/// Error (misbehaving_capsule) for an answer that cannot be read. Thread-safe.
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
  /// For a call that has no result and must not throw. If it fails, the log has why, behind
  /// "<capsule> failed while " and `doing`.
  template <class... Arguments>
  void end(CapsuleCall what, std::string_view doing, const Arguments&... arguments) const noexcept {
    try {
      call<void>(what, arguments...);
    } catch (...) {
      log_failure(doing);
    }
  }
  /// Without a value if the code does not answer so soon, or still answers an earlier one.
  template <class Value, class... Arguments>
  Asked<Value> ask(CapsuleCall what, std::chrono::milliseconds patience,
                   const Arguments&... arguments) const {
    const std::optional<WireMessage> answer = link_->ask(request(what, arguments...), patience);
    return answer ? result_of<Asked<Value>>(*answer) : Asked<Value>{};
  }

 private:
  class Observers;

  CallContext context() const;
  void log_failure(std::string_view doing) const noexcept;

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
  std::unique_ptr<CapsuleLink> link_;
};

}  // namespace vcap
