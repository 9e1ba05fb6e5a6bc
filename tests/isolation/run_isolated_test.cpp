// SPDX-License-Identifier: Apache-2.0
#include "loading/run_isolated.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <thread>

#include "capsule/fake_capsule.hpp"
#include "support/isolated_capsule.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;

class Isolated : public testing::Test {
 protected:
  ~Isolated() override { ::unsetenv("VCAP_ISOLATION"); }

  /// Whether the code of a capsule runs in the thread that calls it.
  static bool runs_here(const char* mode) {
    ::setenv("VCAP_ISOLATION", mode, 1);
    std::thread::id there;
    const auto capsule = make_capsule(detector_info(), [&there](auto&&...) {
      there = std::this_thread::get_id();
      return DetectionNodes::all();
    });
    capsule->process_frame(frame_at(0));
    return there == std::this_thread::get_id();
  }
};

TEST_F(Isolated, RunsTheCodeOfACapsuleWhereTheEnvironmentSays) {
  EXPECT_TRUE(runs_here(""));
  EXPECT_TRUE(runs_here("in_process"));
  EXPECT_FALSE(runs_here("thread"));
}

TEST_F(Isolated, RefusesAnotherPlaceBeforeAnyCodeRuns) {
  ::setenv("VCAP_ISOLATION", "somewhere", 1);
  bool has_run = false;
  EXPECT_THAT(
      [&] {
        run_isolated([&] {
          has_run = true;
          return CapsuleCode{};
        });
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                   HasSubstr("VCAP_ISOLATION is \"some")));
  EXPECT_FALSE(has_run);
}

}  // namespace
}  // namespace vcap::test
