// SPDX-License-Identifier: Apache-2.0
// A plugin whose tables a plain one lacks: thread-local data, initialisers and finalisers.
#include "fixture.hpp"

namespace {

thread_local int calls = 7;
thread_local std::string last_device = "none";
int order = 0;

[[gnu::constructor]] void first() { order = 1; }
[[gnu::destructor]] void last() { order = 0; }

class Capsule final : public fixture::Capsule {
 public:
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    ++calls;
    last_device = device + std::to_string(calls + order);
    return fixture::Capsule::load_backend(files, device);
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
