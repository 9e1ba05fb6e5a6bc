// SPDX-License-Identifier: Apache-2.0
#include "pipeline/http_exchange.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>
#include <utility>

#include "base/text.hpp"

namespace vcap {
namespace {

std::string string_of(const char* text, std::size_t size) {
  return text ? std::string(text, size) : "";
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

MHD_Result keep_argument(void* arguments, MHD_ValueKind, const char* name, std::size_t name_size,
                         const char* value, std::size_t value_size) {
  static_cast<std::multimap<std::string, std::string>*>(arguments)->emplace(
      string_of(name, name_size), string_of(value, value_size));
  return MHD_YES;
}

MHD_Result keep_header(void* headers, MHD_ValueKind, const char* name, std::size_t name_size,
                       const char* value, std::size_t value_size) {
  const auto [place, is_new] = static_cast<std::map<std::string, std::string>*>(headers)->emplace(
      lower(string_of(name, name_size)), string_of(value, value_size));
  if (!is_new) place->second += ", " + string_of(value, value_size);
  return MHD_YES;
}

/// What a stream sends waits in the server, where it may be dropped, and not in the system's
/// buffer. A client whose machine is off is noticed although nothing is sent to it.
void prepare_for_stream(int socket) noexcept {
  constexpr int kUnsent = 128 << 10;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsent, sizeof kUnsent);
  constexpr int kOn = 1;
  constexpr int kIdleSeconds = 15;
  constexpr int kProbeSeconds = 5;
  constexpr int kProbes = 3;
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleSeconds, sizeof kIdleSeconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kProbeSeconds, sizeof kProbeSeconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
}

}  // namespace

HttpRequest request_of(MHD_Connection* connection, const char* path, const char* method) {
  HttpRequest request{.method = method, .path = path};
  MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, &keep_argument,
                              &request.arguments);
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, &keep_header, &request.headers);
  request.host = request.header("host");
  return request;
}

bool announces_body(const HttpRequest& head) {
  const std::string length = head.header("content-length");
  return head.headers.contains("transfer-encoding") || (!length.empty() && length != "0");
}

std::optional<HttpAnswer> refuse_body(const HttpRequest& head, const BodyRule& rule) {
  if (head.headers.contains("transfer-encoding")) {
    if (head.headers.contains("content-length") ||
        lower(head.header("transfer-encoding")) != "chunked")
      return HttpAnswer{.status = 400,
                        .text =
                            "the body must have either a Content-Length or the "
                            "Transfer-Encoding \"chunked\"\n"};
    return rule.most_bytes == 0 ? std::optional(too_long_body(0)) : std::nullopt;
  }
  const auto length = head.headers.find("content-length");
  if (length == head.headers.end()) return std::nullopt;
  std::uint64_t bytes = 0;
  const char* const end = length->second.data() + length->second.size();
  const auto [rest, error] = std::from_chars(length->second.data(), end, bytes);
  if (error == std::errc::result_out_of_range) return too_long_body(rule.most_bytes);
  if (error != std::errc() || rest != end)
    return HttpAnswer{
        .status = 400,
        .text = "the Content-Length " + quote(length->second) + " is not one decimal number\n"};
  return bytes > rule.most_bytes ? std::optional(too_long_body(rule.most_bytes)) : std::nullopt;
}

bool HttpExchange::ask_stream() noexcept {
  if (piece || is_ended || is_gone) return true;
  try {
    do {
      // In this order: a stream that ends after the first question wakes the server.
      const bool has_ended = answer->stream->ended();
      piece = answer->stream->next();
      is_ended = !piece && has_ended;
    } while (piece && piece->empty());
  } catch (...) {
    is_gone = true;
  }
  taken = 0;
  return piece || is_ended || is_gone;
}

std::size_t HttpExchange::take(char* buffer, std::size_t most) noexcept {
  if (!piece) return 0;
  const std::size_t size = std::min(most, piece->size() - taken);
  std::copy_n(piece->data() + taken, size, buffer);
  taken += size;
  if (taken == piece->size()) piece.reset();
  return size;
}

MHD_Result HttpExchange::queue(MHD_ContentReaderCallback read) {
  MHD_Response* response = nullptr;
  if (answer->stream) {
    constexpr std::size_t kBlock = std::size_t{32} << 10;  // for clients of HTTP/1.0
    prepare_for_stream(socket);
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kBlock, read, this, nullptr);
  } else {
    // Not copied: this lives until the connection is closed.
    response = MHD_create_response_from_buffer(answer->text.size(), answer->text.data(),
                                               MHD_RESPMEM_PERSISTENT);
  }
  if (!response) return MHD_NO;  // which closes the connection
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type.c_str());
  // Otherwise a client could keep its connection, and its place, between two requests.
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  for (const auto& [name, value] : answer->headers)
    MHD_add_response_header(response, name.c_str(), value.c_str());
  const MHD_Result sent = MHD_queue_response(connection, answer->status, response);
  MHD_destroy_response(response);
  return sent;
}

}  // namespace vcap
