// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/rtsp_server.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/source.hpp"
#include "view/browser/browser.hpp"
#include "view/browser/viewed_pipeline.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;

/// Signs in as admin.
void administer(const Browser& browser, const ViewedPipeline& viewed, const std::string& view) {
  browser.open(viewed.url(view));
  browser.type("#token", kAdminToken);
  browser.click("#login-form button");
  browser.wait_until("document.body.dataset.role === 'admin'");
}

TEST(LiveStreams, AStreamIsAddedByItsUrlAndRemoved) {
  const RtspServer camera;
  LiveViewSettings settings = settings_with_tokens();
  settings.sources.schemes = {"rtsp"};
  ViewedPipeline viewed(std::move(settings));
  viewed.add("gate");
  const Browser browser;
  administer(browser, viewed, "manage");
  browser.type("[data-form=add] [name=id]", "new <yard>");
  browser.type("[data-form=add] [name=source]", camera.url());
  browser.click("[data-form=add] button.primary");
  browser.wait_until("document.querySelector('[data-form=add] .outcome').textContent.length > 1");
  EXPECT_EQ(browser.text("[data-form=add] .outcome"), "new <yard> runs.");
  browser.click("a[href='#/wall']:not(.brand)");
  browser.wait_until(
      "document.querySelector(\"[data-stream='new <yard>'] canvas\")?.dataset.pictures > 0");
  browser.click("[data-stream='new <yard>']");
  browser.click("[data-action=remove]");
  browser.click("[data-action=confirm]");
  browser.wait_for("[data-stream='gate']");
  browser.wait_until("!document.querySelector(\"#wall [data-stream='new <yard>']\")");
  EXPECT_EQ(viewed.pipeline().stats().streams.size(), 1U);
}

TEST(LiveStreams, OfAClustersWorkerAreOnlyShownAndThoseOfOthersListed) {
  auto pipeline = std::make_shared<Pipeline>(std::vector{make_viewed_capsule()});
  const ViewedStreams streams{
      .pipelines = [&] { return std::vector<std::shared_ptr<const Pipeline>>{pipeline}; },
      .all =
          [] {
            return std::vector<ViewedStreams::Listed>{
                {.id = "gate", .state = "running", .worker = "one"},
                {.id = "a <b>yard</b>",
                 .state = "running",
                 .worker = "two",
                 .view = "http://two.example:9465/"},
                {.id = "roof",
                 .state = "waiting",
                 .view = "javascript:alert(1)",
                 .reason = "no room"}};
          }};
  const LiveView view(streams, settings_with_tokens());
  MovingPictures pictures;
  StreamConfig config{.id = "gate", .source = pictures.source()};
  config.sinks.push_back(view.sink());
  pipeline->open_stream(std::move(config));
  const Browser browser;
  browser.open("http://127.0.0.1:" + std::to_string(view.port()) + "/");
  browser.type("#token", kAdminToken);
  browser.click("#login-form button");
  browser.wait_until("document.querySelector('[data-stream=gate] canvas')?.dataset.pictures > 0");
  browser.wait_for("[data-elsewhere='roof']");
  EXPECT_EQ(browser.count("[data-elsewhere]"), 2U);
  EXPECT_EQ(browser.text("[data-elsewhere='a <b>yard</b>'] a"), "a <b>yard</b>");
  EXPECT_EQ(browser.attribute("[data-elsewhere='a <b>yard</b>'] a", "href"),
            "http://two.example:9465/#/stream/a%20%3Cb%3Eyard%3C%2Fb%3E");
  EXPECT_EQ(browser.count("[data-elsewhere='roof'] a"), 0U);
  EXPECT_THAT(browser.text("[data-elsewhere='roof']"), HasSubstr("no room"));
  EXPECT_EQ(browser.run("return document.querySelector('#manage-link').hidden"), true);
  browser.click("[data-stream=gate]");
  browser.wait_until("document.querySelector('#stream table')?.innerText.includes('person')");
  EXPECT_EQ(browser.count("#stream form, #stream button, #stream .controls"), 0U);
  EXPECT_THAT(browser.errors(), testing::Each(HasSubstr("401"))) << "before the token";
}

TEST(LiveStreams, ASourceThatIsNotAllowedIsRefused) {
  LiveViewSettings settings = settings_with_tokens();
  settings.sources.schemes = {"http"};
  ViewedPipeline viewed(std::move(settings));
  const Browser browser;
  administer(browser, viewed, "manage");
  browser.type("[data-form=add] [name=id]", "etc");
  browser.type("[data-form=add] [name=source]", "/etc/passwd");
  browser.click("[data-form=add] button.primary");
  browser.wait_for("[data-form=add] .outcome.error");
  EXPECT_THAT(browser.text("[data-form=add] .outcome"), HasSubstr("/etc/passwd"));
  EXPECT_TRUE(viewed.pipeline().stats().streams.empty());
}

TEST(LiveStreams, ACancelledRemovalRemovesNothing) {
  ViewedPipeline viewed(settings_with_tokens());
  viewed.add("gate");
  const Browser browser;
  administer(browser, viewed, "stream/gate");
  browser.click("[data-action=remove]");
  browser.click("dialog button:not([data-action])");
  browser.wait_until("!document.querySelector('dialog')");
  EXPECT_EQ(viewed.pipeline().stats().streams.size(), 1U);
}

TEST(LiveStreams, ACameraThatIsGoneShowsAsReconnecting) {
  auto camera = std::make_unique<RtspServer>();
  ViewedPipeline viewed;
  viewed.add("gate", open_source(camera->url(), {.connect_later = true}));
  const Browser browser;
  browser.open(viewed.url());
  browser.wait_for("[data-stream='gate'][data-state='running']");
  camera.reset();
  browser.wait_for("[data-stream='gate'][data-state='reconnecting']");
  EXPECT_THAT(browser.text("[data-stream='gate'] .note"), HasSubstr("for "));
  EXPECT_EQ(browser.text("#problem-count"), "1");
}

TEST(LiveStreams, AStreamThatFailsSaysWhy) {
  ViewedPipeline viewed;
  viewed.add("gate", std::make_unique<MemorySource>(MemorySource::Plan{
                         .frames = -1, .before = [](Frame& frame) {
                           if (frame.index > 3)
                             throw SourceError(ErrorCode::source_read, "the <b>cable</b> is cut");
                         }}));
  const Browser browser;
  browser.open(viewed.url());
  browser.wait_for("[data-stream='gate'][data-state='failed']");
  EXPECT_THAT(browser.text("[data-stream='gate'] .note"), HasSubstr("the <b>cable</b> is cut"));
}

TEST(LiveStreams, ARecordingIsStartedAndStopped) {
  LiveViewSettings settings = settings_with_tokens();
  settings.make_recording = [](const std::string& stream) {
    return ViewRecording{.files = {stream + ".mp4"},
                         .sinks = {make_callback_sink([](const FrameRecord&) {})}};
  };
  ViewedPipeline viewed(std::move(settings));
  viewed.add("gate");
  const Browser browser;
  administer(browser, viewed, "stream/gate");
  browser.click("[data-action=start-recording]");
  browser.wait_until("document.querySelector('#stream').dataset.recording === 'yes'");
  EXPECT_THAT(browser.text("#stream"), HasSubstr("Recording: gate.mp4"));
  browser.click("[data-action=stop-recording]");
  browser.wait_until("document.querySelector('#stream').dataset.recording === 'no'");
  EXPECT_TRUE(viewed.get("state", kAdminToken).at("recordings").empty());
}

}  // namespace
}  // namespace vcap::test
