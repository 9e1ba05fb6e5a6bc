// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "view/browser/browser.hpp"
#include "view/browser/viewed_pipeline.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const char* const kTile = "[data-stream='gate']";

/// Waits until some more pictures have been drawn than there were.
void wait_for_pictures(const Browser& browser, const std::string& canvas) {
  const int before = browser.run(
      "return Number(document.querySelector(arguments[0])?.dataset.pictures ?? 0)", {canvas});
  browser.wait_until("document.querySelector(arguments[0]).dataset.pictures > arguments[1]",
                     {canvas, before + 3});
}

/// The colour in the middle of a canvas, as one number.
int middle_of(const Browser& browser, const std::string& canvas) {
  return browser.run(
      "const canvas = document.querySelector(arguments[0]);"
      "const [r, g, b] = canvas.getContext('2d').getImageData("
      "    Math.floor(canvas.width / 3), Math.floor(canvas.height / 3), 1, 1).data;"
      "return (r * 256 + g) * 256 + b;",
      {canvas});
}

TEST(LivePage, LoadsWithoutErrorsInEachOfItsViews) {
  ViewedPipeline viewed;
  viewed.add("gate");
  const Browser browser;
  for (const char* view : {"", "stream/gate", "charts", "plan", "log"}) {
    browser.open(viewed.url(view));
    browser.wait_until("document.body.dataset.connection === 'live'");
    browser.wait_until(
        "document.querySelector('main > section:not([hidden])')?.children.length > 0");
  }
  EXPECT_THAT(browser.errors(), IsEmpty());
  EXPECT_THAT(browser.text("#connection"), HasSubstr("1 stream"));
}

TEST(LivePage, ShowsPicturesThatMove) {
  ViewedPipeline viewed;
  viewed.add("gate");
  viewed.add("yard");
  const Browser browser;
  browser.open(viewed.url());
  for (const std::string stream : {"gate", "yard"}) {
    const std::string canvas = "[data-stream='" + stream + "'] canvas";
    wait_for_pictures(browser, canvas);
    const int before = middle_of(browser, canvas);
    browser.wait_until(
        "(() => { const canvas = document.querySelector(arguments[0]);"
        "const [r, g, b] = canvas.getContext('2d').getImageData("
        "    Math.floor(canvas.width / 3), Math.floor(canvas.height / 3), 1, 1).data;"
        "return (r * 256 + g) * 256 + b !== arguments[1]; })()",
        {canvas, before});
  }
  EXPECT_EQ(browser.attribute(kTile, "data-state"), "running");
}

TEST(LivePage, ShowsOneStreamLargeWithItsObjects) {
  ViewedPipeline viewed;
  viewed.add("gate");
  viewed.add("yard");
  const Browser browser;
  browser.open(viewed.url());
  browser.click(kTile);
  browser.wait_until("document.querySelector('#stream table')?.innerText.includes('person')");
  EXPECT_EQ(browser.text("#stream h1"), "gate");
  EXPECT_THAT(browser.text("#stream table"), HasSubstr("0.50"));
  wait_for_pictures(browser, "#stream .picture canvas");
  browser.click("#stream details.wide > summary");
  browser.wait_until("document.querySelector('#stream pre').innerText.includes('vcap.frame/1')");
  browser.click("#stream .title a");
  browser.wait_for(kTile);
  EXPECT_THAT(browser.errors(), IsEmpty());
}

TEST(LivePage, DrawsChartsOfItsStates) {
  ViewedPipeline viewed;
  viewed.add("gate");
  const Browser browser;
  browser.open(viewed.url("charts"));
  browser.wait_until(
      "[...document.querySelectorAll('#charts canvas')].filter((one) => one.dataset.points > 3)"
      ".length >= 3");
  EXPECT_EQ(browser.count("#charts canvas"), 4U);
  EXPECT_EQ(browser.run("return [...document.querySelectorAll('#charts option')].map((one) => "
                        "one.textContent)"),
            nlohmann::json({"All streams", "gate"}));
  EXPECT_THAT(browser.errors(), IsEmpty());
}

TEST(LivePage, DrawsThePlan) {
  const auto classifier = make_capsule(
      giving(single_info("classifier", "person"), "colour", {"red", "blue"}), give_back);
  ViewedPipeline viewed({}, {classifier, make_viewed_capsule()});
  const Browser browser;
  browser.open(viewed.url("plan"));
  browser.wait_for("#plan svg");
  EXPECT_EQ(browser.count("#plan .box"), 3U);  // the frame and two capsules
  EXPECT_THAT(browser.text("#plan [data-box='step classifier']"), HasSubstr("2. classifier"));
  EXPECT_EQ(browser.count("#plan .arrow.supply"), 2U);
  EXPECT_THAT(browser.run("return document.querySelector('#plan svg').textContent"),
              HasSubstr("person"));
}

TEST(LivePage, ShowsTheLogFromALevelOn) {
  ViewedPipeline viewed;
  viewed.view().log(LogLevel::info, "all is <i>well</i>");
  viewed.view().log(LogLevel::warning, "the gate is open");
  const Browser browser;
  browser.open(viewed.url("log"));
  browser.wait_until("document.querySelectorAll('.log li').length === 2");
  EXPECT_THAT(browser.text(".log"), HasSubstr("all is <i>well</i>"));
  browser.run(
      "const list = document.querySelector('#log select'); list.value = 'warning';"
      "list.dispatchEvent(new Event('change'));");
  EXPECT_EQ(browser.text(".log").find("well"), std::string::npos);
  EXPECT_THAT(browser.text(".log"), HasSubstr("the gate is open"));
}

TEST(LivePage, SaysThatTheServerIsGoneAndComesBackWithIt) {
  auto viewed = std::make_unique<ViewedPipeline>();
  viewed->add("gate");
  const std::string address = "127.0.0.1:" + std::to_string(viewed->view().port());
  const Browser browser;
  browser.open(viewed->url());
  browser.wait_for(kTile);
  viewed.reset();
  browser.wait_for("#problem");
  EXPECT_THAT(browser.text("#problem"), HasSubstr("vcap does not answer"));
  viewed = std::make_unique<ViewedPipeline>(LiveViewSettings{.address = address});
  viewed->add("yard");
  browser.wait_for("[data-stream='yard']");
  browser.wait_until("document.querySelector('#problem').hidden");
  EXPECT_EQ(browser.count(kTile), 0U);
}

}  // namespace
}  // namespace vcap::test
