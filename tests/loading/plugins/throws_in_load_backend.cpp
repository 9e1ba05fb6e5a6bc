// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "fixture.hpp"

class Capsule final : public fixture::Capsule {
 public:
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    throw std::runtime_error("the model is of another version");
  }
};

VCAP_CAPSULE(Capsule)
