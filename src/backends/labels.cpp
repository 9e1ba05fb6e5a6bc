// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/labels.hpp"

#include "vcap/base/error.hpp"

namespace vcap {

std::vector<std::string> read_labels(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> labels;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) {
      if (text.empty() && !labels.empty()) break;
      throw EngineError(ErrorCode::invalid_model_spec,
                        "labels: line " + std::to_string(labels.size() + 1) +
                            " is empty; each line is the label of the next class, so write a name "
                            "even for a class that is not used");
    }
    labels.emplace_back(line);
  }
  if (labels.empty())
    throw EngineError(ErrorCode::invalid_model_spec,
                      "labels: the text is empty; write one label a line");
  return labels;
}

}  // namespace vcap
