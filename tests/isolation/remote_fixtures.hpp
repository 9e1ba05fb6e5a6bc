// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "capsule/fake_capsule.hpp"
#include "isolation/remote_capsule.hpp"
#include "isolation/thread_link.hpp"

namespace vcap::test {

/// A capsule whose code runs in threads of its own.
inline std::unique_ptr<Capsule> remote(CapsuleInfo info, std::unique_ptr<BaseCapsule> author,
                                       Capsule::Setup setup = {.devices = {"CPU:0"}}) {
  CapsuleInfo copy = info;
  CapsuleCode code = remote_capsule(
      std::move(copy), thread_link({.info = std::move(info), .author = std::move(author)}));
  return std::make_unique<Capsule>(std::move(code.info), std::move(code.author), std::move(setup));
}

inline std::unique_ptr<Capsule> remote(CapsuleInfo info, FakeBackend::Process process) {
  return remote(std::move(info), author_of([process](const CapsuleFiles&, const std::string&) {
                  auto backend = std::make_unique<FakeBackend>();
                  backend->process = process;
                  return backend;
                }));
}

}  // namespace vcap::test
