// SPDX-License-Identifier: Apache-2.0
#include "records/csv.hpp"

#include "base/text.hpp"

namespace vcap {

std::string csv_field(const std::string& text) {
  std::string valid = valid_utf8(text);
  // A blank at an end would be lost in readers that trim.
  const bool is_plain = valid.find_first_of(",\"\r\n") == std::string::npos &&
                        !valid.starts_with(' ') && !valid.ends_with(' ');
  if (is_plain) return valid;
  std::string field = "\"";
  for (const char c : valid) {
    if (c == '"') field += '"';
    field += c;
  }
  return field += '"';
}

CsvReader::CsvReader(const std::string& path) : input_(path), file_(input_.open()) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string first(kMark.size(), '\0');
  file_.read(first.data(), static_cast<std::streamsize>(first.size()));
  if (file_.gcount() == 3 && first == kMark) return;
  file_.clear();
  file_.seekg(0);
}

bool CsvReader::next(char& c) {
  const int byte = file_.rdbuf()->sbumpc();
  if (byte == std::char_traits<char>::eof()) return false;
  c = static_cast<char>(byte);
  if (c == '\n') ++line_;
  return true;
}

std::optional<std::vector<std::string>> CsvReader::read() {
  char c = 0;
  do {
    row_line_ = line_;
    if (!next(c)) return std::nullopt;
  } while (c == '\n' || c == '\r');
  return read_row(c);
}

std::vector<std::string> CsvReader::read_row(char c) {
  std::vector<std::string> fields(1);
  std::size_t size = 0;
  bool in_quotes = false;
  bool was_quoted = false;  // the field has ended with a quote
  bool more = true;
  for (; more; more = next(c)) {
    if (++size > kMostRow)
      input_.fail(place(), "the row is longer than " + std::to_string(kMostRow) +
                               " bytes; check its quotes");
    if (in_quotes) {
      if (c != '"') {
        fields.back() += c;
      } else if (file_.peek() == '"') {
        fields.back() += '"';
        file_.rdbuf()->sbumpc();
      } else {
        in_quotes = false;
        was_quoted = true;
      }
    } else if (c == ',') {
      fields.emplace_back();
      was_quoted = false;
    } else if (c == '\n') {
      break;
    } else if (c == '\r' && (file_.peek() == '\n' || file_.peek() == EOF)) {
      continue;
    } else if (was_quoted) {
      input_.fail(place(), "field " + std::to_string(fields.size()) +
                               " goes on after its closing quote; write \"\" for a quote in it");
    } else if (c == '"' && fields.back().empty()) {
      in_quotes = true;
    } else {
      fields.back() += c;
    }
  }
  file_.clear();
  if (in_quotes) input_.fail(place(), "a quote is not closed");
  return fields;
}

}  // namespace vcap
