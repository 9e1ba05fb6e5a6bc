// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_labels.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/file_list.hpp"
#include "records/csv.hpp"
#include "records/input_file.hpp"
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

std::string with_commas(const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) text += (text.empty() ? "" : ",") + field;
  return text;
}

EvalLabels labels_of_csv(const InputFile& input) {
  EvalLabels labels;
  std::set<std::string> files;
  CsvReader reader(input.path());
  for (bool is_first = true; const auto fields = reader.read(); is_first = false) {
    if (fields->size() != 2 || (*fields)[0].empty() || (*fields)[1].empty())
      input.fail(reader.place(), quote(with_commas(*fields)) + " is not of the form FILE,LABEL");
    if (is_first && (*fields)[0] == "file" && (*fields)[1] == "label") continue;
    if (!files.insert((*fields)[0]).second)
      input.fail(reader.place(), "the file " + quote((*fields)[0]) + " has a label already");
    labels.emplace_back((*fields)[0], (*fields)[1]);
  }
  return labels;
}

EvalLabels labels_of_json(const InputFile& input) {
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
  const InputFile input(path);
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
