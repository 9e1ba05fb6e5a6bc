// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace vcap {
namespace {

constexpr std::size_t kLongestQuote = 120;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }

/// Where to cut without splitting a UTF-8 sequence.
std::size_t cut_at(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return text.size();
  std::size_t end = longest;
  while (end > longest - 3 && is_continuation(text[end])) --end;
  return end;
}

/// The length of the UTF-8 sequence at the beginning of the text; 0 if there is none. The second
/// byte has a narrower range after some first bytes: no overlong forms, no surrogates, nothing
/// above U+10FFFF (RFC 3629, section 4).
std::size_t sequence_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4 || text.size() < length) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < least || second > most) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (!is_continuation(text[i])) return 0;
  return length;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // The second byte of U+0080 to U+009F: terminals may obey these as well.
    const bool is_c1 = byte >= 0x80 && byte < 0xA0 && i > 0 && text[i - 1] == '\xC2';
    if (text[i] == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7F || is_c1) {
      if (is_c1) result.pop_back();
      result += "\\x";
      result += digits[byte >> 4u];
      result += digits[byte & 0xFu];
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string valid_utf8(const std::string& text) {
  const std::string fit =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(fit).get<std::string>();
}

std::string xml_text(std::string_view text) {
  std::string valid = valid_utf8(std::string(text));
  for (const std::string_view bad : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (std::size_t at = 0; (at = valid.find(bad, at)) != std::string::npos;)
      valid.replace(at, bad.size(), "\xEF\xBF\xBD");
  std::string escaped;
  for (const char c : valid) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '&')
      escaped += "&amp;";
    else if (c == '"')
      escaped += "&quot;";
    else if (c == '\'')
      escaped += "&#39;";
    else if (c == '\r')
      escaped += "&#13;";  // a parser would make a line feed of it
    else if (byte < 0x20 && c != '\t' && c != '\n')
      escaped += "\xEF\xBF\xBD";
    else
      escaped += c;
  }
  return escaped;
}

std::string quote(std::string_view text) {
  const std::size_t end = cut_at(text, kLongestQuote);
  std::string escaped;
  for (const char c : text.substr(0, end)) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  std::string result = "\"";
  result += printable(escaped);
  result += end < text.size() ? "…\"" : "\"";
  return result;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-infinity" : "infinity";
  const double size = std::abs(value);
  const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e15);
  std::array<char, 32> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    is_plain ? std::chars_format::fixed : std::chars_format::general);
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string bounded_text(std::string_view text) {
  const std::size_t end = cut_at(text, kLongestForeignText);
  std::string result(text.substr(0, end));
  if (end < text.size()) result += "… (" + std::to_string(text.size()) + " bytes, cut)";
  return result;
}

std::string exception_text(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return bounded_text(error.what());
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

std::size_t find_invalid_utf8(std::string_view text) noexcept {
  constexpr std::uint64_t kHighBits = 0x8080808080808080u;
  std::size_t at = 0;
  while (at < text.size()) {
    // Most text is ASCII: eight bytes at a time.
    std::uint64_t eight = 0;
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & kHighBits) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace vcap
