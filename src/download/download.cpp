// SPDX-License-Identifier: Apache-2.0
#include "loading/resources/download.hpp"

#include <curl/curl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <thread>

#include "capsule/resource_check.hpp"
#include "files/write_all.hpp"
#include "loading/resources/resource_failure.hpp"
#include "vcap/base/log.hpp"
#include "vcap/base/version.hpp"

namespace vcap {
namespace {

constexpr int kMostRedirects = 5;
constexpr std::uint64_t kLongestPage = 1 << 20;  // of an answer without the file
constexpr long kSlowest = 1024;                  // bytes per second
constexpr std::chrono::milliseconds kFirstWait{500};
constexpr std::chrono::milliseconds kLongestWait{30'000};

/// A failure that another try may fix.
class TemporaryFailure : public ResourceFailure {
 public:
  explicit TemporaryFailure(const std::string& reason)
      : ResourceFailure(ErrorCode::resource_unavailable, reason) {}
};

[[noreturn]] void unavailable(const std::string& reason) {
  throw ResourceFailure(ErrorCode::resource_unavailable, reason);
}

void start_libcurl() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw std::bad_alloc();
  });
}

/// Blocks SIGPIPE in this thread; it would end the host if a server closes the connection. OpenSSL
/// has no option to avoid it when it writes to sockets, and libcurl would turn it off for the whole
/// process.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    ::sigemptyset(&sigpipe_);
    ::sigaddset(&sigpipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
  ~WithoutSigpipe() {
    const timespec now{};
    if (!was_pending_)
      while (::sigtimedwait(&sigpipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t sigpipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

bool is_success(long status) { return status == 200 || status == 206; }

/// One request; the body of its answer goes to the file.
class Transfer {
 public:
  Transfer(const Download& what, const ResourceOptions& options, const std::string& url);

  /// Sends the request; returns the target of a redirect.
  std::optional<std::string> run();

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    if (curl_easy_setopt(easy_.get(), option, value) != CURLE_OK)
      unavailable("libcurl lacks option " + std::to_string(option) +
                  "; use its version 7.85 or newer");
  }
  long status() const;
  bool is_file() const { return url_.starts_with("file:"); }

  static std::size_t take(char* data, std::size_t one, std::size_t count, void* self) noexcept;
  void take_part(std::span<const std::byte> part);
  void begin_body();
  void check_range();
  void restart();
  void judge(CURLcode code);

  const Download& what_;
  const std::string url_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_;
  std::array<char, CURL_ERROR_SIZE> curls_words_{};
  std::uint64_t offset_ = 0;     ///< how much of the file is present
  std::uint64_t discarded_ = 0;  ///< bytes of a body that is not the file
  bool asked_for_rest_ = false;
  bool has_begun_ = false;
  std::exception_ptr failure_{};  ///< why this class aborted the transfer
};

Transfer::Transfer(const Download& what, const ResourceOptions& options, const std::string& url)
    : what_(what), url_(url), easy_(curl_easy_init(), &curl_easy_cleanup) {
  if (easy_ == nullptr) throw std::bad_alloc();
  const off_t end = ::lseek(what.fd, 0, SEEK_END);
  offset_ = end > 0 ? static_cast<std::uint64_t>(end) : 0;
  // A local file is copied from the start: that is no slower than continuing it.
  if (offset_ > what.size || is_file()) restart();

  static const std::string agent = "vcap/" + std::string(vcap::version());
  set(CURLOPT_URL, url_.c_str());
  set(CURLOPT_PROTOCOLS_STR, "https,http,file");
  set(CURLOPT_FOLLOWLOCATION, 0L);  // redirects are checked first
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, agent.c_str());
  set(CURLOPT_ERRORBUFFER, curls_words_.data());
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  set(CURLOPT_LOW_SPEED_LIMIT, kSlowest);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout.count()));
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  if (!options.certificates.empty()) set(CURLOPT_CAINFO, options.certificates.c_str());
  set(CURLOPT_WRITEFUNCTION, &Transfer::take);
  set(CURLOPT_WRITEDATA, this);
  asked_for_rest_ = offset_ > 0;
  if (asked_for_rest_) set(CURLOPT_RANGE, (std::to_string(offset_) + "-").c_str());
}

long Transfer::status() const {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  return is_file() ? 200 : status;
}

void Transfer::restart() {
  offset_ = 0;
  if (::ftruncate(what_.fd, 0) != 0 || ::lseek(what_.fd, 0, SEEK_SET) != 0)
    throw ResourceFailure(ErrorCode::resource_cache, "cannot write " + what_.path + ": " +
                                                         std::generic_category().message(errno) +
                                                         "; check the disk");
}

std::size_t Transfer::take(char* data, std::size_t one, std::size_t count, void* self) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(self);
  try {
    transfer.take_part(std::as_bytes(std::span(data, one * count)));
    return one * count;
  } catch (...) {
    transfer.failure_ = std::current_exception();
    return 0;  // fewer than received: libcurl ends the transfer
  }
}

void Transfer::take_part(std::span<const std::byte> part) {
  if (!is_success(status())) {
    discarded_ += part.size();
    if (discarded_ > kLongestPage)
      unavailable("the server answered " + std::to_string(status()) + " with more than " +
                  std::to_string(kLongestPage) + " bytes; check the URL");
    return;
  }
  if (!has_begun_) begin_body();
  if (part.size() > what_.size - offset_)
    throw mismatch("the server sends more than the " + std::to_string(what_.size) +
                   " bytes that the capsule declares");
  if (!write_all(what_.fd, part)) {
    const int error = errno;
    throw ResourceFailure(ErrorCode::resource_cache, "cannot write " + what_.path + ": " +
                                                         std::generic_category().message(error) +
                                                         "; make room for it");
  }
  offset_ += part.size();
}

/// Checks the head of the answer against the request, before the first byte is kept.
void Transfer::begin_body() {
  has_begun_ = true;
  if (status() == 206)
    check_range();
  else if (offset_ > 0)
    restart();  // the server does not support ranges
  curl_off_t length = -1;
  curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  if (length < 0) return;  // unknown
  const std::uint64_t whole = offset_ + static_cast<std::uint64_t>(length);
  if (whole != what_.size)
    throw mismatch("the server has " + std::to_string(whole) + " bytes, but the capsule declares " +
                   std::to_string(what_.size));
}

void Transfer::check_range() {
  curl_header* header = nullptr;
  const bool is_there =
      curl_easy_header(easy_.get(), "Content-Range", 0, CURLH_HEADER, -1, &header) == CURLHE_OK;
  const std::string expected = "bytes " + std::to_string(offset_) + "-";
  if (asked_for_rest_ && is_there && std::string_view(header->value).starts_with(expected)) return;
  restart();
  throw TemporaryFailure("the server answered with a different part of the file than requested");
}

std::optional<std::string> Transfer::run() {
  const CURLcode code = [this] {
    const WithoutSigpipe quiet;
    return curl_easy_perform(easy_.get());
  }();
  if (failure_) std::rethrow_exception(failure_);
  judge(code);
  if (is_success(status())) return std::nullopt;
  const char* location = nullptr;
  curl_easy_getinfo(easy_.get(), CURLINFO_REDIRECT_URL, &location);
  if (location == nullptr)
    unavailable("the server answered " + std::to_string(status()) + "; check the URL");
  return location;
}

/// Throws unless the file is complete or there is a redirect.
void Transfer::judge(CURLcode code) {
  if (code != CURLE_OK) {
    const std::string words =
        curls_words_[0] != '\0' ? curls_words_.data() : curl_easy_strerror(code);
    if (may_pass(code)) throw TemporaryFailure(words);
    unavailable(words);
  }
  const long number = status();
  if (number == 416 && asked_for_rest_) {
    restart();
    throw TemporaryFailure("the server has no such part of the file");
  }
  if (number == 408 || number == 429 || number >= 500)
    throw TemporaryFailure("the server answered " + std::to_string(number));
  if (!is_success(number)) return;
  if (!has_begun_) begin_body();  // the body was empty
  if (offset_ != what_.size)
    throw mismatch("the server sent " + std::to_string(offset_) +
                   " bytes, but the capsule declares " + std::to_string(what_.size));
}

std::string_view scheme_of(std::string_view url) { return url.substr(0, url.find(':')); }

void check_redirect(const std::string& from, const std::string& to) {
  const std::string fault = resource_url_fault(to);
  if (!fault.empty()) unavailable("the server redirects to " + to + ", which " + fault);
  const bool is_safer = scheme_of(from) == "http" && scheme_of(to) == "https";
  if (scheme_of(from) != scheme_of(to) && !is_safer)
    unavailable("the server redirects from " + std::string(scheme_of(from)) + " to " + to +
                ", which is not allowed; serve it by https");
}

void fetch_once(const Download& what, const ResourceOptions& options) {
  struct stat file {};
  if (::fstat(what.fd, &file) == 0 && static_cast<std::uint64_t>(file.st_size) == what.size) return;
  std::string url = what.url;
  for (int redirects = 0;; ++redirects) {
    auto next = Transfer(what, options, url).run();
    if (!next) return;
    if (redirects == kMostRedirects)
      unavailable("the server redirects more than " + std::to_string(kMostRedirects) +
                  " times, at last to " + *next + "; check the URL");
    check_redirect(url, *next);
    url = std::move(*next);
  }
}

void download_with_retries(const Download& what, const ResourceOptions& options) {
  start_libcurl();
  std::chrono::milliseconds pause = kFirstWait;
  for (int attempt = 1;; ++attempt) {
    try {
      return fetch_once(what, options);
    } catch (const TemporaryFailure& failure) {
      if (attempt >= options.attempts)
        unavailable(std::string(failure.what()) + " (the last of " +
                    std::to_string(options.attempts) + " tries); try again later");
      log(LogLevel::info, "fetching " + what.url + ": " + failure.what() + "; trying again");
    }
    if (options.wait)
      options.wait(pause);
    else
      std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestWait);
  }
}

}  // namespace
}  // namespace vcap

extern "C" VCAP_EXPORT void vcap_download_1(const vcap::Download& what,
                                            const vcap::ResourceOptions& options);
void vcap_download_1(const vcap::Download& what, const vcap::ResourceOptions& options) {
  vcap::download_with_retries(what, options);
}
