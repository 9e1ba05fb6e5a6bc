// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "vcap/base/error.hpp"

namespace vcap::test {

/// Expects that `act` throws a BatchError with this code, and that its message contains `part`.
template <class Act>
void expect_batch_error(ErrorCode code, const std::string& part, Act act) {
  try {
    act();
    ADD_FAILURE() << "threw nothing, instead of BatchError " << to_string(code);
  } catch (const BatchError& error) {
    EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

}  // namespace vcap::test
