// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>
#include <nettle/hmac.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "messages/senders.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/version.hpp"

namespace vcap {
namespace {

/// Of an answer; the rest is not received.
constexpr std::size_t kLongestAnswer = 64 << 10;

void start_curl() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw std::bad_alloc();
  });
}

std::string hmac_sha256(const std::string& secret, const std::string& text) {
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, secret.size(),
                      reinterpret_cast<const std::uint8_t*>(secret.data()));
  hmac_sha256_update(&context, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  hmac_sha256_digest(&context, digest.size(), digest.data());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hexadecimal;
  for (const std::uint8_t byte : digest) {
    hexadecimal += kDigits[byte >> 4];
    hexadecimal += kDigits[byte & 15];
  }
  return hexadecimal;
}

/// A list of header lines.
class Headers {
 public:
  void add(const std::string& line) {
    curl_slist* const longer = curl_slist_append(list_.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(list_.release());
    list_.reset(longer);
  }
  curl_slist* get() const { return list_.get(); }

 private:
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> list_{nullptr, &curl_slist_free_all};
};

class WebhookSender final : public MessageSender {
 public:
  explicit WebhookSender(WebhookSettings settings)
      : settings_(std::move(settings)),
        easy_((start_curl(), curl_easy_init()), &curl_easy_cleanup) {
    if (!easy_) throw std::bad_alloc();
    set(CURLOPT_URL, settings_.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "https,http");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, agent_.c_str());
    set(CURLOPT_ERRORBUFFER, curls_words_.data());
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(settings_.timeout.count()));
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    if (!settings_.certificates.empty()) set(CURLOPT_CAINFO, settings_.certificates.c_str());
    set(CURLOPT_WRITEFUNCTION, &WebhookSender::take);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &WebhookSender::go_on);
    set(CURLOPT_XFERINFODATA, this);
    set(CURLOPT_POST, 1L);
  }

  Result send(std::span<const OutgoingMessage> messages) override {
    Result result;
    for (const OutgoingMessage& message : messages) {
      const CURLcode code = post(message);
      judge(code, result);
      if (!result.failure.empty()) break;
      ++result.settled;
    }
    return result;
  }

  void stop() noexcept override { stopped_ = true; }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    if (curl_easy_setopt(easy_.get(), option, value) != CURLE_OK)
      throw OutputError(ErrorCode::output_open, "libcurl lacks option " + std::to_string(option) +
                                                    "; use its version 7.85 or newer");
  }

  CURLcode post(const OutgoingMessage& message) {
    if (stopped_) return CURLE_ABORTED_BY_CALLBACK;
    Headers headers;
    headers.add("Content-Type: application/json");
    headers.add("Vcap-Message-Id: " + message.id);
    headers.add("Expect:");  // no round trip before the body
    if (!settings_.secret.empty())
      headers.add("Vcap-Signature: sha256=" + hmac_sha256(settings_.secret, message.body));
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(message.body.size()));
    set(CURLOPT_POSTFIELDS, message.body.data());
    curls_words_.front() = '\0';
    received_ = 0;
    const CURLcode code = curl_easy_perform(easy_.get());
    set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
    return code;
  }

  /// Adds what the answer says about the next message.
  void judge(CURLcode code, Result& result) {
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    const bool has_status = code == CURLE_OK || (code == CURLE_WRITE_ERROR && status != 0);
    if (!has_status) {
      result.failure = stopped_                       ? "the publisher was closed"
                       : curls_words_.front() != '\0' ? std::string(curls_words_.data())
                                                      : std::string(curl_easy_strerror(code));
      return;
    }
    const std::string text = "the server answered " + std::to_string(status);
    if (status >= 200 && status < 300) return;
    if (status >= 300 && status < 400) {
      result.failure = text + ", a redirect, which is not followed; give the final URL";
    } else if (status >= 400 && status < 500 && status != 408 && status != 429) {
      result.refused.push_back({result.settled, text});
    } else {
      result.failure = text;
      curl_off_t seconds = 0;
      curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &seconds);
      result.retry_after = std::chrono::seconds(std::max<curl_off_t>(seconds, 0));
    }
  }

  static std::size_t take(char*, std::size_t one, std::size_t count, void* self) noexcept {
    auto& received = static_cast<WebhookSender*>(self)->received_;
    received += one * count;
    return received <= kLongestAnswer ? one * count : 0;  // 0: libcurl ends the transfer
  }
  static int go_on(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
    return static_cast<WebhookSender*>(self)->stopped_ ? 1 : 0;  // 1: libcurl ends the transfer
  }

  const WebhookSettings settings_;
  const std::string agent_ = "vcap/" + std::string(version());
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_;
  std::array<char, CURL_ERROR_SIZE> curls_words_{};
  std::size_t received_ = 0;  ///< of the answer
  std::atomic<bool> stopped_ = false;
};

}  // namespace

std::unique_ptr<MessageSender> make_webhook_sender(const WebhookSettings& settings) {
  return std::make_unique<WebhookSender>(settings);
}

}  // namespace vcap
