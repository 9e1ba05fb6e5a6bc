// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "view/browser/browser.hpp"
#include "view/browser/viewed_pipeline.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Point = Browser::Point;

const char* const kPicture = "#stream .shapes";
const std::string kConfig = "form.config ";
const char* const kThreshold = "[data-field=threshold] input[type=number]";

/// Opens a page, and signs in.
void sign_in(const Browser& browser, const ViewedPipeline& viewed, const std::string& token,
             const std::string& view = "") {
  browser.open(viewed.url(view));
  browser.type("#token", token);
  browser.click("#login-form button");
  browser.wait_until("document.body.dataset.role");
}

void open_controls(const Browser& browser, const ViewedPipeline& viewed) {
  sign_in(browser, viewed, kOperatorToken, "stream/gate");
  browser.wait_for(kConfig);
  browser.wait_until("document.querySelector('#stream .picture canvas').dataset.pictures > 0");
  browser.wait_until("document.querySelector(arguments[0]).value !== ''",
                     {kThreshold});  // the present value
  browser.errors();                  // the first request was refused: there was no token yet
}

nlohmann::json config_of_gate(const ViewedPipeline& viewed) {
  return viewed.get("settings?stream=gate", kOperatorToken).at("capsules").at(0).at("config");
}

/// Confidences and option changes of a stream's records, by frame.
class SeenValues {
 public:
  std::shared_ptr<Sink> sink() {
    return make_callback_sink([this](const FrameRecord& record) {
      const std::lock_guard lock(mutex_);
      values_.emplace_back(record.frame.index, record.objects.at(0).confidence().value());
      if (!record.option_changes.empty()) changes_.push_back(record.frame.index);
    });
  }
  std::vector<std::pair<std::int64_t, double>> values() const {
    const std::lock_guard lock(mutex_);
    return values_;
  }
  std::vector<std::int64_t> changes() const {
    const std::lock_guard lock(mutex_);
    return changes_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::int64_t, double>> values_{};
  std::vector<std::int64_t> changes_{};
};

TEST(LiveControls, AnOptionHoldsFromTheFrameThatThePageTells) {
  SeenValues seen;
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate", seen.sink());
  const Browser browser;
  open_controls(browser, viewed);
  browser.type(kThreshold, "0.75");
  browser.press("\uE007");  // Enter
  browser.wait_until("document.querySelector('[data-field=threshold]').dataset.from");
  const std::int64_t from = std::stoll(browser.attribute("[data-field=threshold]", "data-from"));
  EXPECT_EQ(browser.text("[data-field=threshold] output"),
            "holds from frame " + std::to_string(from));
  browser.wait_until("document.querySelector('#stream table').innerText.includes('0.75')");
  const auto changes = seen.changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_GE(changes[0], from);
  for (const auto& [frame, value] : seen.values())
    EXPECT_EQ(value, frame < changes[0] ? 0.5 : 0.75) << frame;
  EXPECT_THAT(browser.errors(), IsEmpty());
}

TEST(LiveControls, ARefusedOptionSaysWhyAndKeepsItsValue) {
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate");
  const Browser browser;
  open_controls(browser, viewed);
  browser.type(kThreshold, "3");
  browser.press("\uE007");
  browser.wait_for("[data-field=threshold] output.error");
  EXPECT_THAT(browser.text("[data-field=threshold] output"), HasSubstr("is not within 0.1 to 1"));
  EXPECT_EQ(browser.run("return document.querySelector(arguments[0]).value", {kThreshold}), "0.5");
}

TEST(LiveControls, OptionsOfAllStreamsChangeTogether) {
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate");
  viewed.add("yard");
  const Browser browser;
  open_controls(browser, viewed);
  browser.click("[data-field=all-streams]");
  browser.run(
      "const list = document.querySelector('[data-field=model] select');"
      "list.value = '\"large\"'; list.dispatchEvent(new Event('change'));");
  browser.wait_until("document.querySelector('[data-field=model] output').textContent.length > 1");
  EXPECT_THAT(browser.text("[data-field=model] output"), HasSubstr("of yard"));
  for (const std::string stream : {"gate", "yard"})
    EXPECT_EQ(
        viewed.get("settings?stream=" + stream, kOperatorToken)["capsules"][0]["options"]["model"],
        "large")
        << stream;
}

TEST(LiveControls, AZoneThatIsDrawnIsInTheConfig) {
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate");
  const Browser browser;
  open_controls(browser, viewed);
  browser.click(kConfig + "[data-field=zones] [data-action=draw]");
  for (const Point point : {Point{0.2, 0.2}, {0.8, 0.2}, {0.8, 0.8}, {0.5, 0.9}})
    browser.click_at(kPicture, point);
  browser.click_at(kPicture, {0.2, 0.2});  // the first corner ends it
  browser.wait_until("document.querySelectorAll('#stream .handle:not(.new)').length === 4");
  browser.drag("#stream .handle[data-place='1']", {0.5, 0.5}, {0.5, 0.5});  // moves nothing
  browser.click_at("#stream .handle[data-place='3']", {0.5, 0.5}, Browser::Button::right);
  browser.wait_until("document.querySelectorAll('#stream .handle').length === 3");
  browser.click(kConfig + "[data-action=save-config]");
  browser.wait_until("document.querySelector('form.config').dataset.from");
  const nlohmann::json zones = config_of_gate(viewed).at("zones");
  ASSERT_EQ(zones.size(), 1U);
  ASSERT_EQ(zones[0].size(), 3U);
  EXPECT_NEAR(zones[0][0][0].get<double>(), 0.2, 0.01);
  EXPECT_NEAR(zones[0][2][1].get<double>(), 0.8, 0.01);
}

TEST(LiveControls, PointsMoveWithMouseAndKeys) {
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate");
  const Browser browser;
  open_controls(browser, viewed);
  browser.click(kConfig + "[data-field=line] [data-action=draw]");
  browser.click_at(kPicture, {0.3, 0.4});
  browser.click_at(kPicture, {0.7, 0.4});
  browser.wait_until("document.querySelectorAll('#stream .handle').length === 2");
  browser.drag(kPicture, {0.7, 0.4}, {0.9, 0.6});
  browser.run("document.querySelector('.handle[data-place=\"0\"]').focus()");
  for (int i = 0; i < 20; ++i) browser.press("\uE015");  // arrow down
  browser.click(kConfig + "[data-action=save-config]");
  browser.wait_until("document.querySelector('form.config').dataset.from");
  const nlohmann::json line = config_of_gate(viewed).at("line");
  EXPECT_NEAR(line[0][1].get<double>(), 0.5, 0.01);
  EXPECT_NEAR(line[1][0].get<double>(), 0.9, 0.01);
  EXPECT_NEAR(line[1][1].get<double>(), 0.6, 0.01);
}

TEST(LiveControls, EscapeCancelsAZone) {
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate");
  const Browser browser;
  open_controls(browser, viewed);
  browser.click(kConfig + "[data-field=zones] [data-action=draw]");
  browser.click_at(kPicture, {0.2, 0.2});
  browser.click_at(kPicture, {0.4, 0.2});
  browser.wait_until("document.querySelectorAll('#stream .handle.new').length === 2");
  browser.press("\uE00C");
  browser.wait_until("document.querySelectorAll('#stream .handle').length === 0");
  EXPECT_FALSE(config_of_gate(viewed).contains("zones"));
}

TEST(LiveControls, ARefusedConfigShowsItsErrorAndTheOldOneStays) {
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate");
  const Browser browser;
  open_controls(browser, viewed);
  const nlohmann::json before = config_of_gate(viewed);
  browser.click(kConfig + "summary");
  browser.type(kConfig + "textarea", R"({"name": 3})");
  browser.click(kConfig + "[data-action=save-config]");
  browser.wait_for(kConfig + "> .outcome.error");
  EXPECT_THAT(browser.text(kConfig + "> .outcome"), HasSubstr("The last good config runs on."));
  EXPECT_THAT(browser.text(kConfig + "> .outcome"), HasSubstr("name"));
  EXPECT_EQ(config_of_gate(viewed), before);
  browser.click(kConfig + "[data-action=last-good]");
  browser.wait_until("!document.querySelector('form.config textarea').value.includes('3')");
}

TEST(LiveControls, AConfigThatIsNoJsonShowsTheLineAndColumn) {
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate");
  const Browser browser;
  open_controls(browser, viewed);
  browser.click(kConfig + "summary");
  browser.type(kConfig + "textarea", "{\n \"name\" 3}");
  browser.click(kConfig + "[data-action=save-config]");
  browser.wait_for(kConfig + "> .outcome.error");
  EXPECT_THAT(browser.text(kConfig + "> .outcome"), HasSubstr("line 2, column "));
}

TEST(LiveControls, AWrongTokenIsRefused) {
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate");
  const Browser browser;
  browser.open(viewed.url());
  browser.type("#token", "wrong-token-of-the-tests");
  browser.click("#login-form button");
  browser.wait_until("document.querySelector('#login-error').textContent !== ''");
  EXPECT_EQ(browser.count("[data-stream]"), 0U);
  EXPECT_EQ(browser.run("return sessionStorage.length"), 0);
}

TEST(LiveControls, AViewerSeesNoControls) {
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate");
  const Browser browser;
  sign_in(browser, viewed, kViewerToken, "stream/gate");
  browser.wait_until("document.querySelector('#stream table')?.innerText.includes('person')");
  EXPECT_EQ(browser.count("#stream form, #stream button, #stream input"), 0U);
  EXPECT_TRUE(browser.run("return document.querySelector('#manage-link').hidden"));
  browser.click("#sign-out");
  browser.wait_for("#login");
  EXPECT_EQ(browser.run("return sessionStorage.length"), 0);
}

TEST(LiveControls, AnOperatorOfOneStreamControlsThatOneOnly) {
  LiveViewSettings settings = settings_with_tokens();
  settings.tokens[1].streams = {{"gate"}};
  ViewedPipeline viewed(std::move(settings));
  viewed.add("gate");
  viewed.add("yard");
  const Browser browser;
  sign_in(browser, viewed, kOperatorToken);
  browser.wait_for("[data-stream='gate']");
  EXPECT_EQ(browser.count("[data-stream='yard']"), 0U);
  browser.click("[data-stream='gate']");
  browser.wait_for("#stream form.options");
  EXPECT_EQ(browser.count("[data-field=all-streams]"), 0U);
  EXPECT_EQ(browser.count("[data-action=remove]"), 0U);
}

TEST(LiveControls, TheTokenIsInNoUrl) {
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate");
  const Browser browser;
  sign_in(browser, viewed, kOperatorToken);
  browser.wait_for("[data-stream='gate']");
  const std::string urls = browser.run(
      "return location.href + performance.getEntriesByType('resource').map((one) => one.name)");
  EXPECT_THAT(urls, HasSubstr("/api/v1/state"));
  EXPECT_EQ(urls.find(kOperatorToken), std::string::npos);
}

}  // namespace
}  // namespace vcap::test
