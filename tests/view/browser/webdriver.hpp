// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "view/browser/chrome_driver.hpp"

namespace vcap::test {

/// One command of the W3C WebDriver protocol (https://www.w3.org/TR/webdriver2/). Returns "value"
/// of the answer. Throws std::runtime_error with the message of an error.
inline nlohmann::json send_to_driver(const std::string& method, const std::string& url,
                                     const nlohmann::json& body = nlohmann::json::object()) {
  const std::unique_ptr<CURL, void (*)(CURL*)> request(::curl_easy_init(), ::curl_easy_cleanup);
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(
      ::curl_slist_append(nullptr, "Content-Type: application/json"), ::curl_slist_free_all);
  const std::string text = body.dump();
  std::string answer;
  const auto append = +[](char* bytes, std::size_t size, std::size_t count, void* to) {
    static_cast<std::string*>(to)->append(bytes, size * count);
    return size * count;
  };
  constexpr long kLongest = 120;  // seconds; commands of these tests wait for nothing
  ::curl_easy_setopt(request.get(), CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(request.get(), CURLOPT_NOPROXY, "*");
  ::curl_easy_setopt(request.get(), CURLOPT_CUSTOMREQUEST, method.c_str());
  ::curl_easy_setopt(request.get(), CURLOPT_HTTPHEADER, headers.get());
  ::curl_easy_setopt(request.get(), CURLOPT_TIMEOUT, kLongest);
  ::curl_easy_setopt(request.get(), CURLOPT_WRITEFUNCTION, append);
  ::curl_easy_setopt(request.get(), CURLOPT_WRITEDATA, &answer);
  if (method == "POST") ::curl_easy_setopt(request.get(), CURLOPT_POSTFIELDS, text.c_str());
  if (const CURLcode code = ::curl_easy_perform(request.get()); code != CURLE_OK)
    throw std::runtime_error("chromedriver does not answer " + method + " " + url + ": " +
                             ::curl_easy_strerror(code));
  nlohmann::json value = nlohmann::json::parse(answer).at("value");
  if (value.is_object() && value.contains("error"))
    throw std::runtime_error(method + " " + url + ": " + value.value("message", value.dump()));
  return value;
}

/// A browser with a new profile, which reaches nothing but this machine's loopback interface. Ends
/// with this object. Thread safety: thread-compatible.
class WebDriver {
 public:
  explicit WebDriver(int width = 1400, int height = 900) {
    const nlohmann::json capabilities = {
        {"browserName", "chrome"},
        {"goog:loggingPrefs", {{"browser", "ALL"}}},
        {"goog:chromeOptions",
         {{"args",
           {"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--disable-background-networking", "--disable-component-update", "--no-first-run",
            "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
            "--force-device-scale-factor=1",
            "--window-size=" + std::to_string(width) + "," + std::to_string(height),
            "--user-data-dir=" + (driver_.home() / "profile").native()}}}}};
    try {
      session_ = driver_.url() + "/session/" +
                 send_to_driver("POST", driver_.url() + "/session",
                                {{"capabilities", {{"alwaysMatch", capabilities}}}})
                     .at("sessionId")
                     .get<std::string>();
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string("no browser: ") + error.what() + "\n" +
                               driver_.errors() +
                               "\nIt is in Debian's package chromium: apt-get install chromium "
                               "chromium-driver");
    }
  }
  WebDriver(const WebDriver&) = delete;
  WebDriver& operator=(const WebDriver&) = delete;
  ~WebDriver() {
    try {
      send_to_driver("DELETE", session_);
    } catch (const std::exception&) {
      // The driver ends the browser when it ends.
    }
  }

  nlohmann::json get(const std::string& command) const {
    return send_to_driver("GET", session_ + command);
  }
  nlohmann::json post(const std::string& command,
                      const nlohmann::json& body = nlohmann::json::object()) const {
    return send_to_driver("POST", session_ + command, body);
  }

  void open(const std::string& url) const { post("/url", {{"url", url}}); }
  /// Runs the body of a JavaScript function with `arguments`, and returns what it returns; if that
  /// is a promise, what it becomes.
  nlohmann::json run(const std::string& script,
                     nlohmann::json arguments = nlohmann::json::array()) const {
    return post("/execute/sync", {{"script", script}, {"args", std::move(arguments)}});
  }
  /// The browser's log since the last call: failed requests, errors of scripts, refusals by the
  /// content security policy. Only those of level SEVERE.
  std::vector<std::string> errors() const {
    std::vector<std::string> lines;
    for (const nlohmann::json& line : post("/se/log", {{"type", "browser"}}))
      if (line.at("level") == "SEVERE") lines.push_back(line.at("message"));
    return lines;
  }

 private:
  ChromeDriver driver_;
  std::string session_;
};

}  // namespace vcap::test
