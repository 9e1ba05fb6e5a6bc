// SPDX-License-Identifier: Apache-2.0
#include "cluster/site.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 32;
/// Not '%': a server that formats a consumer's name loses its connection (2.9.10).
constexpr char kEscape = '=';
constexpr std::array kKinds{Site::Kind::task, Site::Kind::lease, Site::Kind::settled,
                            Site::Kind::job, Site::Kind::plan};

/// Whether the first message of a subject stays, and not the last one.
bool is_fixed(Site::Kind kind) { return kind == Site::Kind::task || kind == Site::Kind::settled; }
/// Whether processes want to know at once what was stored.
bool is_announced(Site::Kind kind) {
  return kind == Site::Kind::lease || kind == Site::Kind::settled || kind == Site::Kind::job;
}

bool is_plain(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string_view text_of(Site::Kind kind) {
  switch (kind) {
    case Site::Kind::task:
      return "task";
    case Site::Kind::lease:
      return "lease";
    case Site::Kind::settled:
      return "settled";
    case Site::Kind::job:
      return "job";
    case Site::Kind::plan:
      return "plan";
  }
  return {};
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

std::string joined(std::string subject, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) subject += '.' + to_token(part);
  return subject;
}

/// With what would lose messages, or refuse them, if it were set.
json with_defaults(json config) {
  for (const char* const key : {"max_msgs", "max_bytes", "max_msg_size", "max_consumers"})
    config[key] = -1;
  for (const char* const key : {"sealed", "no_ack", "deny_delete", "deny_purge"})
    config[key] = false;
  config["max_age"] = 0;
  config["mirror"] = nullptr;
  config["sources"] = nullptr;
  return config;
}

}  // namespace

Site::Site(std::string name) : name_(std::move(name)) {
  if (name_.empty() || name_.size() > kLongestName || !std::ranges::all_of(name_, is_plain))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the site " + quote(name_) + " must have 1 to " +
                              std::to_string(kLongestName) + " of the characters A-Za-z0-9_-");
}

std::string Site::stream(Kind kind) const { return "VCAP_" + name_ + '_' + upper(text_of(kind)); }

std::string Site::subject(Kind kind, std::initializer_list<std::string_view> parts) const {
  return joined("vcap." + name_ + '.' + std::string(text_of(kind)), parts);
}

std::string Site::all(Kind kind, std::initializer_list<std::string_view> parts) const {
  return subject(kind, parts) + ".*";
}

std::string Site::note(Kind kind, std::initializer_list<std::string_view> parts) const {
  return joined("vcap." + name_ + ".note." + std::string(text_of(kind)), parts);
}

std::string Site::notes(Kind kind, std::initializer_list<std::string_view> parts) const {
  return note(kind, parts) + ".*";
}

std::vector<json> Site::streams(int replicas) const {
  std::vector<json> streams;
  for (const Kind kind : kKinds) {
    const std::string subjects = subject(kind, {}) + ".>";
    streams.push_back({{"name", stream(kind)},
                       {"subjects", {subjects}},
                       {"storage", "file"},
                       {"retention", "limits"},
                       {"discard", is_fixed(kind) ? "new" : "old"},
                       {"max_msgs_per_subject", 1},
                       {"num_replicas", replicas},
                       {"duplicate_window", 120'000'000'000}});
    json& config = streams.back();
    if (is_fixed(kind)) config["discard_new_per_subject"] = true;
    if (is_announced(kind))
      config["republish"] = {
          {"src", subjects},
          {"dest", "vcap." + name_ + ".note." + std::string(text_of(kind)) + ".>"}};
    // Who waits for results reads them from the stream.
    if (kind == Site::Kind::settled) config["republish"]["headers_only"] = true;
  }
  streams.push_back({{"name", "OBJ_" + bucket()},
                     {"subjects", {"$O." + bucket() + ".C.>", "$O." + bucket() + ".M.>"}},
                     {"storage", "file"},
                     {"retention", "limits"},
                     {"discard", "new"},
                     {"allow_rollup_hdrs", true},
                     {"num_replicas", replicas},
                     {"duplicate_window", 120'000'000'000}});
  return streams;
}

std::string to_token(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string token;
  for (const char c : text) {
    if (is_plain(c)) {
      token += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      token += kEscape;
      token += kDigits[byte >> 4];
      token += kDigits[byte & 15];
    }
  }
  return token;
}

std::string last_token(std::string_view subject) {
  const std::string_view token = subject.substr(subject.rfind('.') + 1);
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    unsigned byte = 0;
    if (token[i] != kEscape) {
      text += token[i];
      continue;
    }
    const std::string_view digits = token.substr(i + 1, 2);
    if (digits.size() < 2 ||
        std::from_chars(digits.data(), digits.data() + 2, byte, 16).ptr != digits.data() + 2)
      throw ClusterError(ErrorCode::invalid_message,
                         "the subject " + quote(subject) + " has an invalid escape");
    text += static_cast<char>(byte);
    i += 2;
  }
  return text;
}

void prepare_streams(JetStream& jet_stream, const Site& site, bool may_create) {
  for (const json& wanted : site.streams(1)) {
    const std::string name = wanted.at("name");
    json answer = jet_stream.ask("STREAM.INFO." + name, nullptr);
    const bool is_missing = answer.contains("error") && answer["error"].value("code", 0) == 404;
    if (is_missing && !may_create)
      throw ClusterError(ErrorCode::broker_unfit,
                         "the broker has no site " + quote(site.name()) +
                             ": a worker or a job creates it; check the name");
    if (is_missing) {
      answer = jet_stream.ask("STREAM.CREATE." + name, wanted);
      // Another process may have created it meanwhile.
      if (answer.contains("error")) answer = jet_stream.ask("STREAM.INFO." + name, nullptr);
    }
    if (answer.contains("error"))
      throw ClusterError(
          ErrorCode::broker_refused,
          "stream " + name + " of the site " + quote(site.name()) +
              " cannot be looked up: " + printable(answer["error"].value("description", "")));
    const json expected = with_defaults(wanted);
    for (const auto& [key, value] : expected.items()) {
      if (key == "num_replicas" || key == "duplicate_window") continue;
      const json found = answer.at("config").value(key, json());
      const bool is_equal =
          found == value || (found.is_null() && (value == json(0) || value == json(false)));
      if (!is_equal)
        throw ClusterError(ErrorCode::broker_unfit, "stream " + name + ": \"" + key + "\" is " +
                                                        found.dump() + ", but must be " +
                                                        value.dump() +
                                                        "; change it, or remove the stream");
    }
  }
}

}  // namespace vcap
