// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "support/isolated_capsule.hpp"
#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/capsule.hpp"

namespace vcap::test {

/// A capsule of the program itself, on one device; `make_backend` makes its backend.
inline std::shared_ptr<Capsule> program_capsule(
    CapsuleInfo info, std::function<std::unique_ptr<Backend>()> make_backend) {
  class Author final : public BaseCapsule {
   public:
    explicit Author(std::function<std::unique_ptr<Backend>()> make_backend)
        : make_backend_(std::move(make_backend)) {}
    std::unique_ptr<Backend> load_backend(const CapsuleFiles&, const std::string&) override {
      return make_backend_();
    }

   private:
    const std::function<std::unique_ptr<Backend>()> make_backend_;
  };
  Capsule::Setup setup;
  setup.devices = {"CPU:0"};
  return kept_capsule_of(std::move(info), std::make_unique<Author>(std::move(make_backend)),
                         std::move(setup));
}

/// A capsule whose backend only calls `process`; if it is stateless, from several threads.
inline std::shared_ptr<Capsule> program_capsule(
    CapsuleInfo info, std::function<DetectionNodes(const Frame&, DetectionNodes,
                                                   const OptionValues&, BaseStreamState&)>
                          process) {
  class Calling final : public Backend {
   public:
    explicit Calling(decltype(process) process) : process_(std::move(process)) {}
    DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                                 const OptionValues& options, BaseStreamState& state) override {
      return process_(frame, std::move(nodes), options, state);
    }

   private:
    const decltype(process) process_;
  };
  return program_capsule(std::move(info),
                         [process = std::move(process)]() -> std::unique_ptr<Backend> {
                           return std::make_unique<Calling>(process);
                         });
}

/// The info of a capsule that finds nodes with that name in each frame.
inline CapsuleInfo finder_info(std::string name, std::string finds, int version = 1) {
  return {.name = std::move(name),
          .version = version,
          .input_type = {.size = NodeDescription::Size::none},
          .output_type = {.size = NodeDescription::Size::all, .detections = {std::move(finds)}}};
}

}  // namespace vcap::test
