// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "harness/alive.hpp"
#include "harness/execution.hpp"

namespace vcap::model {

/// The state that std::stop_source, std::stop_token and std::stop_callback share.
class StopState {
 public:
  class Callback {
   public:
    virtual void call() noexcept = 0;

   protected:
    ~Callback() = default;
  };

  bool request(const Where& where);
  /// Calls it at once if a stop has been requested.
  void add(Callback& callback, const Where& where);
  /// Waits while another strand runs it.
  void remove(Callback& callback, const Where& where);

  bool requested = false;
  std::size_t sources = 0;

 private:
  std::vector<Callback*> callbacks_{};
  const Callback* called_ = nullptr;  // the one that runs now
  const Strand* caller_ = nullptr;
};

/// std::stop_token for strands.
class StopToken {
 public:
  StopToken() = default;
  explicit StopToken(std::shared_ptr<StopState> state) noexcept : state_(std::move(state)) {}

  bool stop_requested() const noexcept { return state_ && state_->requested; }
  bool stop_possible() const noexcept {
    return state_ && (state_->requested || state_->sources > 0);
  }
  const std::shared_ptr<StopState>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<StopState> state_{};
};

/// std::stop_source for strands.
class StopSource {
 public:
  StopSource() : state_(std::make_shared<StopState>()) { ++state_->sources; }
  ~StopSource() { --state_->sources; }
  StopSource(const StopSource&) = delete;
  StopSource& operator=(const StopSource&) = delete;

  StopToken get_token() const noexcept { return StopToken(state_); }
  bool request_stop(const Where& where = Where::current()) { return state_->request(where); }
  bool stop_requested() const noexcept { return state_->requested; }

 private:
  std::shared_ptr<StopState> state_;
};

/// std::stop_callback for strands.
template <class Function>
class StopCallback final : private StopState::Callback {
 public:
  template <class From>
  StopCallback(const StopToken& token, From&& function, const Where& where = Where::current())
      : function_(std::forward<From>(function)), state_(token.state()) {
    if (state_) state_->add(*this, where);
  }
  ~StopCallback() {
    if (state_) state_->remove(*this, Where::current());
  }
  StopCallback(const StopCallback&) = delete;
  StopCallback& operator=(const StopCallback&) = delete;

 private:
  void call() noexcept override { std::forward<Function>(function_)(); }

  Function function_;
  std::shared_ptr<StopState> state_;
};

template <class Function>
StopCallback(StopToken, Function) -> StopCallback<Function>;

}  // namespace vcap::model
