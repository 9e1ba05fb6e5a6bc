// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <string>

namespace vcap::test {

struct CurlRequest {
  std::string authority{};  ///< a PEM file
  std::string body{};       ///< then it is a POST
  long versions = CURL_SSLVERSION_DEFAULT;
  std::string ciphers{};
};

struct CurlAnswer {
  CURLcode code = CURLE_OK;
  std::string error{};
  long status = 0;
  std::string body{};
};

inline std::size_t append_curl_body(char* data, std::size_t one, std::size_t count, void* body) {
  static_cast<std::string*>(body)->append(data, one * count);
  return one * count;
}

/// Asks, and waits for the answer for at most a minute.
inline CurlAnswer curl_request(const std::string& url, const CurlRequest& request) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 &curl_easy_cleanup);
  CurlAnswer answer;
  char error[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");  // the machine's settings must not change a test
  curl_easy_setopt(curl.get(), CURLOPT_CAINFO, request.authority.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_SSLVERSION, request.versions);
  if (!request.ciphers.empty())
    curl_easy_setopt(curl.get(), CURLOPT_SSL_CIPHER_LIST, request.ciphers.c_str());
  if (!request.body.empty()) {
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, request.body.data());
  }
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, 60L);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &append_curl_body);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer.body);
  answer.code = curl_easy_perform(curl.get());
  answer.error = error;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

}  // namespace vcap::test
