// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "vcap/base/error.hpp"

namespace vcap {

/// Matches a call that throws an E with exactly this code and a message that `message` matches:
///   EXPECT_THAT([&] { values.set("x", 7); },
///               ThrowsError<OptionError>(ErrorCode::option_range, HasSubstr("\"x\"")));
template <class E>
auto ThrowsError(ErrorCode code, const testing::Matcher<std::string>& message) {
  return testing::Throws<E>(testing::AllOf(testing::Property("code", &E::code, code),
                                           testing::Property("what", &E::what, message)));
}

}  // namespace vcap
