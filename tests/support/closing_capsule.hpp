// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "support/program_capsule.hpp"
#include "support/runtime_fixtures.hpp"

namespace vcap::test {

/// A capsule whose backend calls `on_drain` and `on_close` when the capsule is closed.
inline std::shared_ptr<Capsule> make_closing_capsule(CapsuleInfo info, Process process,
                                                     std::function<void()> on_close,
                                                     std::function<void()> on_drain = {}) {
  class ClosingBackend final : public Backend {
   public:
    ClosingBackend(Process process, std::function<void()> on_close, std::function<void()> on_drain)
        : process_(std::move(process)),
          on_close_(std::move(on_close)),
          on_drain_(std::move(on_drain)) {}
    DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                                 const OptionValues& options, BaseStreamState& state) override {
      return process_(frame, std::move(nodes), options, state);
    }
    void drain() override {
      if (on_drain_) on_drain_();
    }
    void close() noexcept override {
      if (on_close_) on_close_();
    }

   private:
    const Process process_;
    const std::function<void()> on_close_, on_drain_;
  };
  info.version = std::max(info.version, 1);
  return program_capsule(std::move(info), [=] {
    return std::unique_ptr<Backend>(std::make_unique<ClosingBackend>(process, on_close, on_drain));
  });
}

}  // namespace vcap::test
