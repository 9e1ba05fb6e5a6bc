// SPDX-License-Identifier: Apache-2.0
#include "files/strict_json.hpp"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Builds the value from the parser's events; throws at the first event that is not allowed.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(std::size_t levels) : levels_(levels) {}

  nlohmann::json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    // The parser gives whole numbers that do not fit as rounded floating-point numbers.
    if (text.find_first_of(".eE") == text.npos)
      fail(here(), "the number " + text.substr(0, 40) + " does not fit into 64 bits");
    return add(value);
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // does not occur in text

  bool start_object(std::size_t) override { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) override { return open(nlohmann::json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (open_.back()->contains(name)) fail(extend_pointer(pointer(), name), "occurs twice");
    keys_.back() = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    throw InvalidArgument(ErrorCode::invalid_json, error.what());
  }

 private:
  [[noreturn]] static void fail(const std::string& where, const std::string& fault) {
    throw InvalidArgument(ErrorCode::invalid_json, where + ": " + fault);
  }

  /// The JSON pointer of the innermost open container.
  std::string pointer() const {
    std::string text;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) text = extend_pointer(text, name_in(i));
    return text;
  }
  /// The JSON pointer of the next value.
  std::string here() const {
    return open_.empty() ? "" : extend_pointer(pointer(), name_in(open_.size() - 1));
  }
  /// The key or index of the current child of the i-th open container: the open child, or the next
  /// one.
  std::string name_in(std::size_t i) const {
    if (open_[i]->is_object()) return keys_[i];
    const bool child_is_open = i + 1 < open_.size();
    return std::to_string(open_[i]->size() - (child_is_open ? 1 : 0));
  }

  nlohmann::json* place(nlohmann::json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    nlohmann::json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[keys_.back()] = std::move(value));
  }

  bool add(nlohmann::json value) {
    place(std::move(value));
    return true;
  }

  bool open(nlohmann::json container) {
    if (open_.size() == levels_)
      fail(here(), "is nested deeper than " + std::to_string(levels_) + " levels");
    // Only the last element of an open container grows, so pointers to the open ones stay valid.
    open_.push_back(place(std::move(container)));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  const std::size_t levels_;
  nlohmann::json root_{};
  std::vector<nlohmann::json*> open_{};
  std::vector<std::string> keys_{};  ///< the last key in each open container
};

}  // namespace

std::string extend_pointer(std::string_view pointer, std::string_view key) {
  std::string text(pointer);
  text += '/';
  for (const char c : key) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return text;
}

nlohmann::json parse_strictly(std::string_view text, std::size_t levels) {
  // The parser takes a zero byte as the end and ignores what follows.
  if (const std::size_t at = text.find('\0'); at != text.npos)
    throw InvalidArgument(ErrorCode::invalid_json, "byte " + std::to_string(at) + " is zero");
  Builder builder(levels);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace vcap
