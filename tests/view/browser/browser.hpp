// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/bounded_wait.hpp"
#include "view/browser/webdriver.hpp"

namespace vcap::test {

/// A browser as its user sees it: it clicks, types, and waits until something is there. Elements
/// are named by CSS selectors. Thread safety: thread-compatible.
class Browser {
 public:
  using WebDriverSize = std::pair<int, int>;
  explicit Browser(WebDriverSize size = {1400, 900}) : driver_(size.first, size.second) {}

  void open(const std::string& url) const { driver_.open(url); }
  nlohmann::json run(const std::string& script,
                     nlohmann::json arguments = nlohmann::json::array()) const {
    return driver_.run(script, std::move(arguments));
  }
  std::vector<std::string> errors() const { return driver_.errors(); }

  /// Waits until the expression is true; `arguments` are those of run(). Throws std::runtime_error
  /// with the page's text after bounded_wait()'s limit.
  void wait_until(const std::string& expression,
                  const nlohmann::json& arguments = nlohmann::json::array()) const {
    // In the page, so that no time is lost between its change and this test's notice of it.
    const std::string script =
        "return new Promise((resolve) => { const end = Date.now() + 20000;"
        "const look = () => { let held = false; try { held = (" +
        expression +
        "); } catch {}"
        "if (held || Date.now() > end) resolve(Boolean(held)); else setTimeout(look, 20); };"
        "look(); });";
    for (int i = 0; i < 6; ++i)
      if (run(script, arguments).get<bool>()) return;
    throw std::runtime_error("this test waited two minutes for: " + expression + " " +
                             arguments.dump() + "\nThe page says:\n" + text("body"));
  }
  void wait_for(const std::string& element) const {
    wait_until("document.querySelector(arguments[0])?.checkVisibility()", {element});
  }

  std::string text(const std::string& element) const {
    return run(
        "return document.querySelector(arguments[0])?.innerText ?? "
        "document.querySelector(arguments[0])?.textContent ?? ''",
        {element});
  }
  /// "data-…" and others; empty if there is none.
  std::string attribute(const std::string& element, const std::string& name) const {
    return run("return document.querySelector(arguments[0])?.getAttribute(arguments[1]) ?? ''",
               {element, name});
  }
  std::size_t count(const std::string& elements) const {
    return run("return document.querySelectorAll(arguments[0]).length", {elements});
  }

  /// Waits for the element, and clicks it where the user would.
  void click(const std::string& element) const {
    wait_for(element);
    driver_.post("/element/" + find(element) + "/click");
  }
  /// Replaces what is in a field, as the user would.
  void type(const std::string& element, const std::string& text) const {
    wait_for(element);
    const std::string all =
        "\uE009"
        "a"
        "\uE000";  // Control and A; the last one releases Control
    driver_.post("/element/" + find(element) + "/value", {{"text", all + text}});
  }
  /// Presses keys in the element that has the focus.
  void press(const std::string& keys) const {
    const std::string active = driver_.get("/element/active").begin().value();
    driver_.post("/element/" + active + "/value", {{"text", keys}});
  }

  /// A point of an element, as fractions of its width and height.
  struct Point {
    double x = 0, y = 0;
  };
  enum class Button { left = 0, right = 2 };
  void click_at(const std::string& element, Point point, Button button = Button::left) const {
    point_device({move(element, point), press_button(button), release_button(button)});
  }
  void drag(const std::string& element, Point from, Point to) const {
    point_device({move(element, from), press_button(Button::left), move(element, to),
                  release_button(Button::left)});
  }

  /// The window as PNG, in base64.
  std::string screenshot() const { return driver_.get("/screenshot"); }

 private:
  std::string find(const std::string& element) const {
    return driver_.post("/element", {{"using", "css selector"}, {"value", element}})
        .begin()
        .value();
  }

  /// In the window's pixels, once the element is in view.
  nlohmann::json move(const std::string& element, Point point) const {
    const nlohmann::json place =
        run("const element = document.querySelector(arguments[0]);"
            "element.scrollIntoView({block: 'nearest'});"
            "const box = element.getBoundingClientRect();"
            "return [Math.round(box.left + box.width * arguments[1]),"
            "        Math.round(box.top + box.height * arguments[2])];",
            {element, point.x, point.y});
    return {{"type", "pointerMove"}, {"duration", 0}, {"x", place[0]}, {"y", place[1]}};
  }
  static nlohmann::json press_button(Button button) {
    return {{"type", "pointerDown"}, {"button", static_cast<int>(button)}};
  }
  static nlohmann::json release_button(Button button) {
    return {{"type", "pointerUp"}, {"button", static_cast<int>(button)}};
  }
  void point_device(const std::vector<nlohmann::json>& actions) const {
    const nlohmann::json mouse = {{"type", "pointer"},
                                  {"id", "mouse"},
                                  {"parameters", {{"pointerType", "mouse"}}},
                                  {"actions", actions}};
    driver_.post("/actions", {{"actions", nlohmann::json::array({mouse})}});
  }

  WebDriver driver_;
};

}  // namespace vcap::test
