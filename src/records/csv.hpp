// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/input_file.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// The text as a field of CSV (RFC 4180): in quotes if it has a comma, quote, CR or LF. Bytes that
/// are not UTF-8 become U+FFFD. Thread-safe.
VCAP_EXPORT std::string csv_field(const std::string& text);

/// Reads rows of CSV (RFC 4180): fields may be quoted, and quoted fields may span lines. Ends of
/// lines are CR LF or LF; empty lines are left out, and a byte order mark before the first one.
/// Thread safety: thread-compatible.
class VCAP_EXPORT CsvReader {
 public:
  /// The most bytes of a row: far more than a row of vcap has.
  static constexpr std::size_t kMostRow = std::size_t{64} << 20;

  /// Throws SourceError if it cannot be read.
  explicit CsvReader(const std::string& path);

  /// The next row; `nullopt` at the end. Throws InvalidArgument that names file and line.
  std::optional<std::vector<std::string>> read();
  /// The line in which the last row begins, as "line 3".
  std::string place() const { return "line " + std::to_string(row_line_); }
  const InputFile& input() const noexcept { return input_; }

 private:
  std::vector<std::string> read_row(char first);
  bool next(char& c);

  InputFile input_;
  std::ifstream file_;
  std::size_t line_ = 1;
  std::size_t row_line_ = 1;
};

}  // namespace vcap
