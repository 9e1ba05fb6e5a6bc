// SPDX-License-Identifier: Apache-2.0
// [test]
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <vcap/vcap.hpp>

namespace {

/// Loads the packed file once for all tests, as a host does.
class Brightness : public testing::Test {
 protected:
  static void SetUpTestSuite() { capsule = vcap::load_capsule(BRIGHTNESS_CAPSULE); }
  static void TearDownTestSuite() { capsule.reset(); }

  inline static std::shared_ptr<vcap::Capsule> capsule;
};

TEST_F(Brightness, IsThatOfThePicture) {
  const cv::Mat picture(48, 64, CV_8UC3, cv::Scalar::all(200));  // with a known answer
  const vcap::DetectionNodes nodes = capsule->process_frame({.image = picture});
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].name, "picture");
  EXPECT_EQ(nodes[0].bbox().width(), 64);
  EXPECT_EQ(nodes[0].extra_data.at("bright").get<double>(), 200);
}

TEST_F(Brightness, IsTheSameInAStream) {
  vcap::FrameFeed feed;
  std::size_t records = 0;
  vcap::Pipeline pipeline({capsule});
  pipeline.open_stream({.id = "test",
                        .source = feed.source(),
                        .sinks = {vcap::make_callback_sink([&](const vcap::FrameRecord& record) {
                          ++records;
                          EXPECT_TRUE(record.errors.empty());
                          EXPECT_EQ(record.objects.size(), 1u);
                        })}});
  for (int grey = 0; grey < 250; grey += 10) feed.push({48, 64, CV_8UC3, cv::Scalar::all(grey)});
  feed.end();
  const vcap::StreamReport report = pipeline.wait("test");
  EXPECT_EQ(report.failure.value_or(""), "");
  EXPECT_EQ(records, 25u);
}

}  // namespace
// [/test]
