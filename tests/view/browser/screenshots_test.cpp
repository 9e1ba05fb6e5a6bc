// SPDX-License-Identifier: Apache-2.0
// The live view of people on real footage. With VCAP_SCREENSHOTS=FOLDER, the pictures of
// docs/live-view.md are written there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <opencv2/imgcodecs.hpp>

#include "support/footage.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/sources/source.hpp"
#include "view/browser/browser.hpp"
#include "view/browser/viewed_pipeline.hpp"

namespace vcap::test {
namespace {

std::vector<unsigned char> from_base64(const std::string& text) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned char> bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char digit : text) {
    const std::size_t value = kDigits.find(digit);
    if (value == std::string::npos) break;
    bits = (bits << 6 | static_cast<unsigned>(value)) & 0xFFFF;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<unsigned char>(bits >> count));
  }
  return bytes;
}

/// Saves what the browser shows as a JPEG of less than 150 kB.
void save_screen(const Browser& browser, const std::string& path) {
  const cv::Mat picture = cv::imdecode(from_base64(browser.screenshot()), cv::IMREAD_COLOR);
  ASSERT_FALSE(picture.empty());
  cv::Scalar mean;
  cv::Scalar deviation;
  cv::meanStdDev(picture, mean, deviation);
  EXPECT_GT(deviation[0], 10) << path;  // it shows something
  constexpr std::size_t kMostBytes = 150'000;
  std::vector<unsigned char> jpeg;
  for (int quality = 90; jpeg.empty() || (jpeg.size() >= kMostBytes && quality > 30); quality -= 10)
    cv::imencode(".jpg", picture, jpeg, {cv::IMWRITE_JPEG_QUALITY, quality});
  EXPECT_LT(jpeg.size(), kMostBytes);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(jpeg.data()), static_cast<std::streamsize>(jpeg.size()));
}

std::vector<std::shared_ptr<Capsule>> people_capsules() {
  std::vector<std::shared_ptr<Capsule>> capsules;
  for (const std::string name : {"detector_person_hog", "tracker_person", "line_counter"})
    capsules.push_back(
        load_capsule(test::built("examples/capsules/") + name + "/" + name + ".cap"));
  return capsules;
}

TEST(LiveScreenshots, ShowPeopleAndTheLineThatTheyCross) {
  const char* const wanted = std::getenv("VCAP_SCREENSHOTS");
  const TemporaryFolder temporary;
  const std::string folder = wanted ? wanted : temporary.path().native();
  ViewedPipeline viewed(settings_with_tokens(), people_capsules());
  int seconds = 0;
  for (const char* stream : {"gate", "parking", "north"}) {
    StreamConfig config{
        .id = stream,
        .source = open_source(test::footage(), {.start = std::chrono::seconds(seconds)}),
        .config = {{"line_counter", nlohmann::json{{"line", {{0.1, 0.55}, {0.9, 0.7}}}}}}};
    seconds += 20;
    viewed.add(std::move(config));
  }
  const Browser browser({1280, 800});
  browser.open(viewed.url());
  browser.type("#token", kAdminToken);
  browser.click("#login-form button");
  for (const std::string stream : {"gate", "parking", "north"})
    browser.wait_until("document.querySelector(arguments[0])?.dataset.pictures > 2",
                       {"[data-stream='" + stream + "'] canvas"});
  save_screen(browser, folder + "/live-wall.jpg");
  browser.click("[data-stream='gate']");
  browser.wait_until("document.querySelectorAll('#stream tbody tr').length > 2");
  browser.wait_until("document.querySelector('#stream .picture canvas').dataset.pictures > 5");
  save_screen(browser, folder + "/live-stream.jpg");
  browser.run("document.querySelector('form.config').scrollIntoView({block: 'center'})");
  save_screen(browser, folder + "/live-controls.jpg");
  EXPECT_TRUE(browser.errors().size() <= 1);  // the first request is refused: there is no token yet
}

}  // namespace
}  // namespace vcap::test
