// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "loading/run_isolated.hpp"
#include "vcap/capsule/capsule.hpp"

namespace vcap::test {

/// A capsule made of a class of the test. As in load_capsule(), VCAP_ISOLATION says where its code
/// runs, so that whole suites show that it makes no difference.
inline Capsule capsule_of(CapsuleInfo info, std::unique_ptr<BaseCapsule> author,
                          Capsule::Setup setup) {
  check(info);
  CapsuleCode code = run_isolated(
      [&] { return CapsuleCode{.info = std::move(info), .author = std::move(author)}; });
  return Capsule(std::move(code.info), std::move(code.author), std::move(setup));
}
/// The same, to be kept.
inline std::unique_ptr<Capsule> kept_capsule_of(CapsuleInfo info,
                                                std::unique_ptr<BaseCapsule> author,
                                                Capsule::Setup setup) {
  return std::unique_ptr<Capsule>(
      new Capsule(capsule_of(std::move(info), std::move(author), std::move(setup))));
}

}  // namespace vcap::test
