// SPDX-License-Identifier: Apache-2.0
#include "harness/stop_token.hpp"

#include <algorithm>
#include <utility>

namespace vcap::model {

bool StopState::request(const Where& where) {
  Execution& execution = *Execution::current();
  execution.reach("request stop", this, where);
  if (std::exchange(requested, true)) return false;
  caller_ = &execution.self();
  while (!callbacks_.empty()) {
    Callback& callback = *callbacks_.front();
    callbacks_.erase(callbacks_.begin());
    called_ = &callback;
    execution.reach("call back", this, where);
    callback.call();  // may destroy the callback
    called_ = nullptr;
  }
  return true;
}

void StopState::add(Callback& callback, const Where& where) {
  Execution::current()->reach("add a stop callback", this, where);
  if (requested)
    callback.call();
  else
    callbacks_.push_back(&callback);
}

void StopState::remove(Callback& callback, const Where& where) {
  Execution& execution = *Execution::current();
  execution.reach("remove a stop callback", this, where);
  if (std::erase(callbacks_, &callback) > 0) return;
  if (called_ != &callback || caller_ == &execution.self()) return;
  execution.reach("wait for a stop callback to return", this, where,
                  [&] { return called_ != &callback; });
}

}  // namespace vcap::model
