// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace vcap {
namespace {

constexpr std::size_t kLongestQuote = 120;

/// Where to cut without splitting a UTF-8 sequence: continuation bytes are 10xxxxxx.
std::size_t cut_at(std::string_view text) {
  if (text.size() <= kLongestQuote) return text.size();
  std::size_t end = kLongestQuote;
  while (end > kLongestQuote - 3 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return end;
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

std::string quote(std::string_view text) {
  const std::size_t end = cut_at(text);
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
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
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

std::string exception_text(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace vcap
