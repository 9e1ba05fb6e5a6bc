// SPDX-License-Identifier: Apache-2.0
// Reports how many backends were made since its library was loaded, and the address of that
// counter.
#include <nlohmann/json.hpp>

#include "fixture.hpp"

namespace {
int made = 0;
}

class Capsule final : public fixture::Capsule {
 public:
  static vcap::CapsuleInfo info() {
    vcap::CapsuleInfo info = fixture::info("counting");
    info.stream_state = [](const vcap::StreamInfo&) {
      return std::make_unique<vcap::BaseStreamState>();
    };
    return info;
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    ++made;
    return std::make_unique<fixture::Backend>(
        files, device,
        nlohmann::json{{"made", made}, {"at", reinterpret_cast<std::uintptr_t>(&made)}});
  }
};

VCAP_CAPSULE(Capsule)
