// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_labels.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/eval_input.hpp"
#include "sources/file_list.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

EvalLabels labels_of_folder(const fs::path& folder) {
  EvalLabels labels;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code unknown;
    if (is_hidden(at->path())) {
      at.disable_recursion_pending();
    } else if (at.depth() == 1 && at->is_regular_file(unknown)) {
      const std::string label = at->path().parent_path().filename().string();
      labels.emplace_back(label + "/" + at->path().filename().string(), label);
    } else if (at.depth() >= 1) {
      at.disable_recursion_pending();
    }
  }
  if (failed)
    throw SourceError(ErrorCode::source_open, "folder " + folder.string() + " cannot be read: " +
                                                  failed.message() + "; check its permissions");
  return labels;
}

/// Two fields, each of which may be quoted (RFC 4180).
std::vector<std::string> csv_fields(const EvalInput& input, std::string_view line,
                                    const std::string& place) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[i++];
    } else if (line[i] == '"' && (quoted || fields.back().empty())) {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  if (quoted) input.fail(place, "a quote is not closed");
  return fields;
}

EvalLabels labels_of_csv(const EvalInput& input) {
  EvalLabels labels;
  std::set<std::string> files;
  input.each_line([&](std::string_view line, std::size_t number) {
    const std::string place = "line " + std::to_string(number);
    const std::vector<std::string> fields = csv_fields(input, line, place);
    if (fields.size() != 2 || fields[0].empty() || fields[1].empty())
      input.fail(place, quote(line) + " is not of the form FILE,LABEL");
    if (number == 1 && fields[0] == "file" && fields[1] == "label") return;
    if (!files.insert(fields[0]).second)
      input.fail(place, "the file " + quote(fields[0]) + " has a label already");
    labels.emplace_back(fields[0], fields[1]);
  });
  return labels;
}

EvalLabels labels_of_json(const EvalInput& input) {
  const nlohmann::json content = input.read_json();
  if (!content.is_object()) input.fail("", "it is not an object of file to label");
  EvalLabels labels;
  for (const auto& [file, label] : content.items())
    labels.emplace_back(file, input.text(content, file.c_str(), ""));
  return labels;
}

}  // namespace

EvalLabels read_labels(const std::string& path) {
  std::error_code ignored;
  const EvalInput input(path);
  EvalLabels labels = fs::is_directory(path, ignored)         ? labels_of_folder(path)
                      : fs::path(path).extension() == ".json" ? labels_of_json(input)
                                                              : labels_of_csv(input);
  if (labels.empty())
    input.fail("",
               "it has no labels; give a folder with a folder of images for each label, a CSV "
               "file of lines FILE,LABEL, or a JSON object of file to label");
  std::ranges::sort(labels,
                    [](const auto& a, const auto& b) { return natural_less(a.first, b.first); });
  return labels;
}

}  // namespace vcap::cli
