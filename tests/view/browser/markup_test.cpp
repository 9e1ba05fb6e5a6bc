// SPDX-License-Identifier: Apache-2.0
// Names and messages of streams and capsules may be anything; no markup in them becomes an element.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "view/browser/browser.hpp"
#include "view/browser/viewed_pipeline.hpp"

namespace vcap::test {
namespace {

using testing::IsEmpty;

constexpr int kNames = 1000;

/// Different ways to run a script or to end an element or attribute.
std::string hostile_name(int i) {
  static const std::vector<std::string> kForms = {
      "<img src=x onerror='window.pwned=1' class=pwn>",
      "<script class=pwn>window.pwned=1</script>",
      "\"><svg class=pwn onload=window.pwned=1>",
      "</td></table><b class=pwn>",
      "' onmouseover=window.pwned=1 '",
      "javascript:window.pwned=1",
      "${window.pwned=1}",
      "</script><iframe class=pwn src=javascript:window.pwned=1></iframe>",
      "<a class=pwn href=javascript:window.pwned=1>",
      "&lt;b class=pwn&gt;"};
  return kForms[static_cast<std::size_t>(i) % kForms.size()] + std::to_string(i);
}

/// A capsule whose objects have hostile names and attribute values, and that fails on each tenth
/// frame with a hostile message.
std::shared_ptr<Capsule> make_hostile_capsule() {
  CapsuleInfo info = detector_info("hostile", hostile_name(0));
  info.description = hostile_name(1);
  info.options = {
      {"text", TextOption{.default_value = hostile_name(2), .description = hostile_name(3)}}};
  info.output_type.detections.clear();
  for (int i = 0; i < kNames; ++i) info.output_type.detections.push_back(hostile_name(i));
  info.output_type.attributes = {{hostile_name(4), {hostile_name(5), hostile_name(6)}}};
  return make_capsule(std::move(info), [](const Frame& frame, DetectionNodes, const OptionValues&,
                                          BaseStreamState&) {
    if (frame.index % 10 == 9) throw std::runtime_error(hostile_name(7));
    DetectionNodes nodes = DetectionNodes::all();
    for (int i = 0; i < kNames; ++i) {
      DetectionNode node = node_at(hostile_name(i), i % 100, 20);
      node.attributes = {{hostile_name(4), hostile_name(5 + i % 2)}};
      nodes.add(std::move(node));
    }
    return nodes;
  });
}

/// That nothing of the names became an element, and no script of theirs ran.
void expect_only_text(const Browser& browser) {
  EXPECT_EQ(browser.run("return typeof window.pwned"), "undefined");
  EXPECT_EQ(
      browser.count(".pwn, iframe, img, b, main script, svg[onload], [onerror], [onmouseover]"),
      0U);
  EXPECT_THAT(browser.errors(), IsEmpty());
}

TEST(LivePage, ShowsNamesWithMarkupAsText) {
  LiveViewSettings settings;
  ViewedPipeline viewed(std::move(settings), {make_hostile_capsule()});
  viewed.add(hostile_name(0));
  viewed.view().log(LogLevel::error, hostile_name(8));
  const Browser browser;
  browser.open(viewed.url());
  browser.wait_until("document.querySelector('.tile .name')?.textContent === arguments[0]",
                     {hostile_name(0)});
  browser.wait_until("document.querySelector('.tile canvas').dataset.pictures > 2");
  expect_only_text(browser);
  browser.click(".tile");
  browser.wait_until("document.querySelectorAll('#stream tbody tr').length === 200");
  browser.wait_until(
      "document.querySelector('#stream .messages').textContent.includes(arguments[0])",
      {hostile_name(7)});
  EXPECT_EQ(browser.text("#stream h1"), hostile_name(0));
  // A frame on which the capsule fails has no objects, so these come and go.
  for (const auto& [part, name] :
       {std::pair("#stream table", hostile_name(9)), std::pair("#stream .pairs", hostile_name(5))})
    browser.wait_until("document.querySelector(arguments[0])?.textContent.includes(arguments[1])",
                       {part, name});
  browser.run("document.querySelector('#stream details.wide').open = true");
  browser.wait_until("document.querySelector('#stream pre').textContent.includes('pwned')");
  expect_only_text(browser);
  for (const char* view : {"plan", "log", "charts"}) {
    browser.run("location.hash = '#/' + arguments[0]", {view});
    browser.wait_until("document.body.dataset.view === arguments[0]", {view});
    browser.wait_until(
        "document.querySelector('main > section:not([hidden])').textContent"
        ".includes('pwned')");
    expect_only_text(browser);
  }
}

TEST(LivePage, ShowsAThousandStreamsWhoseNamesAreMarkup) {
  ViewedPipeline viewed;
  for (int i = 0; i < kNames; ++i) viewed.add(hostile_name(i), make_source(2));
  const Browser browser;
  browser.open(viewed.url());
  browser.wait_until("document.querySelectorAll('.tile').length === arguments[0]", {kNames});
  const std::vector<std::string> names = browser.run(
      "return [...document.querySelectorAll('.tile .name')].map((one) => one.textContent)");
  for (int i = 0; i < kNames; ++i) EXPECT_THAT(names, testing::Contains(hostile_name(i)));
  expect_only_text(browser);
}

}  // namespace
}  // namespace vcap::test
