// SPDX-License-Identifier: Apache-2.0
#include "records/yolo_names.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/file_list.hpp"
#include "records/input_file.hpp"

// A library for YAML would be loaded by every process that uses vcap, for this one key. What its
// few lines may look like is fixed by the tools that write them; anything else is refused.

namespace vcap {
namespace {

namespace fs = std::filesystem;
using YoloNames = std::map<std::int64_t, std::string>;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Reads the value of "names".
class YoloNamesReader {
 public:
  explicit YoloNamesReader(const std::string& path) : input_(path) {}

  std::optional<YoloNames> read() {
    input_.each_line([this](std::string_view line, std::size_t number) {
      place_ = "line " + std::to_string(number);
      take(line);
    });
    if (state_ == State::flow) fail("the list of names is not closed");
    if (state_ == State::before) return std::nullopt;
    return names_;
  }

 private:
  enum class State { before, block, flow, after };

  [[noreturn]] void fail(const std::string& why) const {
    input_.fail(place_, why +
                            "; names must be a list of names, or a map of numbers to names, such "
                            "as \"0: person\"");
  }

  void take(std::string_view line) {
    if (trimmed(line).starts_with('#')) return;
    if (state_ == State::block && !line.starts_with(' ') && !line.starts_with('-'))
      state_ = State::after;
    if (state_ == State::block) return take_block(trimmed(line));
    if (state_ == State::flow) return take_flow(trimmed(line));
    if (state_ != State::before || !line.starts_with("names:")) return;
    const std::string_view value = trimmed(line.substr(line.find(':') + 1));
    state_ = State::block;
    if (value.empty() || value.starts_with('#')) return;
    if (value.front() != '[' && value.front() != '{') fail("names is " + quote(value));
    state_ = State::flow;
    is_map_ = value.front() == '{';
    take_flow(value.substr(1));
  }

  void take_block(std::string_view line) {
    std::string_view rest;
    if (line.starts_with('-')) {
      const std::string_view value = trimmed(line.substr(1));
      const std::size_t size = scalar(value, "");
      add(next_, size, value);
      rest = trimmed(value.substr(size));
    } else {
      rest = trimmed(take_pair(line, ""));
    }
    if (!rest.empty() && !rest.starts_with('#')) fail(quote(rest) + " follows a name");
  }

  /// The rest of a flow sequence or mapping; entries may stand on several lines.
  void take_flow(std::string_view text) {
    const char close = is_map_ ? '}' : ']';
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
      if (text.front() == close) {
        state_ = State::after;
        return;
      }
      if (text.front() == ',') {
        text.remove_prefix(1);
        continue;
      }
      text = is_map_ ? take_pair(text, ",}") : take_entry(text);
    }
  }

  std::string_view take_entry(std::string_view text) {
    const std::size_t size = scalar(text, ",]");
    add(next_, size, text);
    return text.substr(size);
  }

  std::string_view take_pair(std::string_view text, std::string_view ends) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) fail(quote(text) + " is no pair of number and name");
    std::string_view key = trimmed(text.substr(0, colon));
    if (key.size() > 1 && (key.front() == '"' || key.front() == '\''))
      key = key.substr(1, key.size() - 2);
    const std::int64_t number = input_.integer_in(key, "the number of a class", place_);
    const std::string_view value = trimmed(text.substr(colon + 1));
    const std::size_t size = scalar(value, ends);
    add(number, size, value);
    return value.substr(size);
  }

  /// The size of the scalar at the beginning of the text; it ends at one of `ends`, at a comment,
  /// or at the text's end.
  std::size_t scalar(std::string_view text, std::string_view ends) const {
    if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
      const char mark = text.front();
      for (std::size_t i = 1; i < text.size(); ++i) {
        if (mark == '"' && text[i] == '\\')
          ++i;
        else if (mark == '\'' && text[i] == '\'' && i + 1 < text.size() && text[i + 1] == '\'')
          ++i;
        else if (text[i] == mark)
          return i + 1;
      }
      fail("a quote is not closed");
    }
    return std::min({text.find_first_of(ends), text.find(" #"), text.size()});
  }

  /// The first `size` bytes of the text are the name.
  void add(std::int64_t number, std::size_t size, std::string_view text) {
    const std::string_view raw = trimmed(text.substr(0, size));
    if (raw.empty()) fail("class " + std::to_string(number) + " has no name");
    std::string name(raw);
    if (raw.front() == '"') {
      const auto json = nlohmann::json::parse(raw, nullptr, false);
      if (!json.is_string()) fail(quote(raw) + " has an escape that is not known");
      name = json.get<std::string>();
    } else if (raw.front() == '\'') {
      name = raw.substr(1, raw.size() - 2);
      for (std::size_t at = 0; (at = name.find("''", at)) != std::string::npos; ++at)
        name.erase(at, 1);
    } else if (raw.find_first_of("&*!|>%@`{[") == 0) {
      fail(quote(raw) + " is not a plain name");
    }
    if (number < 0 || !names_.try_emplace(number, name).second)
      fail("the class " + std::to_string(number) + " is below 0, or is there twice");
    next_ = number + 1;
  }

  const InputFile input_;
  std::string place_;
  State state_ = State::before;
  bool is_map_ = false;
  std::int64_t next_ = 0;
  YoloNames names_;
};

}  // namespace

YoloNames read_yolo_names(const fs::path& folder) {
  std::error_code unknown;
  if (const fs::path data = folder / "data.yaml"; fs::exists(data, unknown))
    return YoloNamesReader(data.string()).read().value_or(YoloNames());
  for (const fs::path& file : files_in(folder))
    if (file.extension() == ".yaml" || file.extension() == ".yml")
      if (const auto names = YoloNamesReader(file.string()).read()) return *names;
  YoloNames names;
  for (const char* const name : {"classes.txt", "labels/classes.txt"}) {
    if (!fs::exists(folder / name, unknown)) continue;
    InputFile((folder / name).string()).each_line([&](std::string_view line, std::size_t number) {
      names.emplace(static_cast<std::int64_t>(number) - 1, trimmed(line));
    });
    break;
  }
  return names;
}

}  // namespace vcap
