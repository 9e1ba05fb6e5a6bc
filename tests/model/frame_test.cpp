// SPDX-License-Identifier: Apache-2.0
#include "vcap/model/frame.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace vcap {
namespace {

TEST(Frame, SharesItsPixelsWithItsCopies) {
  const Frame frame{.image = cv::Mat(4, 6, CV_8UC3, cv::Scalar(1, 2, 3)), .index = 7};
  const Frame copy = frame;
  EXPECT_EQ(copy.image.data, frame.image.data);
  EXPECT_EQ(copy.index, 7);
}

TEST(Discontinuity, HasTheNamesThatRecordsWrite) {
  const std::pair<Discontinuity, const char*> names[] = {{Discontinuity::none, "none"},
                                                         {Discontinuity::start, "start"},
                                                         {Discontinuity::gap, "gap"},
                                                         {Discontinuity::seek, "seek"},
                                                         {Discontinuity::reconnect, "reconnect"},
                                                         {Discontinuity::loop, "loop"}};
  for (const auto& [discontinuity, name] : names) EXPECT_EQ(to_string(discontinuity), name);
}

}  // namespace
}  // namespace vcap
