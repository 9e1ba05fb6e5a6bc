// SPDX-License-Identifier: Apache-2.0
#include "cluster/site.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 32;
/// How many servers keep a message if nobody says it.
constexpr int kUsualReplicas = 3;
/// The server's error codes, which its documentation lists.
constexpr int kNoCluster = 10074;
constexpr int kTooFewServers = 10005;
/// A cluster that has just begun may not know all its servers yet.
constexpr std::chrono::seconds kClusterBegins{5};
constexpr std::chrono::milliseconds kCreationPause{200};
/// What `nats stream edit` can change.
constexpr std::array kEditable{"discard",      "max_age",  "max_bytes",
                               "max_msg_size", "max_msgs", "max_msgs_per_subject",
                               "num_replicas"};
/// Not '%': a server that formats a consumer's name loses its connection (2.9.10).
constexpr char kEscape = '=';
constexpr std::array kKinds{Site::Kind::task,   Site::Kind::lease,  Site::Kind::settled,
                            Site::Kind::job,    Site::Kind::plan,   Site::Kind::stream,
                            Site::Kind::owner,  Site::Kind::worker, Site::Kind::order,
                            Site::Kind::record, Site::Kind::event};
constexpr std::int64_t kDay = 86'400'000'000'000;
constexpr std::int64_t kGiga = 1'000'000'000;

/// Whether the first message of a subject stays, and not the last one.
bool is_fixed(Site::Kind kind) { return kind == Site::Kind::task || kind == Site::Kind::settled; }
/// Whether processes want to know at once what was stored.
bool is_announced(Site::Kind kind) {
  switch (kind) {
    case Site::Kind::task:
    case Site::Kind::plan:
    case Site::Kind::record:
    case Site::Kind::event:
      return false;
    default:
      return true;
  }
}
/// Whether all messages are kept, for a time and up to a size that the site may change.
bool is_log(Site::Kind kind) { return kind == Site::Kind::record || kind == Site::Kind::event; }

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
    case Site::Kind::stream:
      return "stream";
    case Site::Kind::owner:
      return "owner";
    case Site::Kind::worker:
      return "worker";
    case Site::Kind::order:
      return "order";
    case Site::Kind::record:
      return "record";
    case Site::Kind::event:
      return "event";
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
  for (const char* const key : {"max_msgs", "max_msg_size", "max_consumers"}) config[key] = -1;
  for (const char* const key : {"sealed", "no_ack", "deny_delete", "deny_purge"})
    config[key] = false;
  if (!config.contains("max_age")) {
    config["max_age"] = 0;
    config["max_bytes"] = -1;
  }
  config["mirror"] = nullptr;
  config["sources"] = nullptr;
  return config;
}

/// What to do about a setting of a stream.
std::string remedy(const std::string& stream, const std::string& key, const json& value) {
  if (std::ranges::find(kEditable, key) == kEditable.end())
    return "it cannot be changed, so remove the stream when no job runs: nats stream rm " + stream;
  std::string option = key == "num_replicas" ? "replicas" : key;
  std::ranges::replace(option, '_', '-');
  return "change it: nats stream edit " + stream + " --" + option + '=' +
         (value.is_string() ? value.get<std::string>() : value.dump());
}

int error_of(const json& answer) {
  return answer.contains("error") ? answer["error"].value("err_code", -1) : 0;
}

/// The server's answer. `replicas`: how many to demand; if absent, becomes what the servers allow.
json create_stream(JetStream& jet_stream, json config, std::optional<int>& replicas) {
  const std::string operation = "STREAM.CREATE." + config.at("name").get<std::string>();
  const auto end = std::chrono::steady_clock::now() + kClusterBegins;
  for (;;) {
    config["num_replicas"] = replicas.value_or(kUsualReplicas);
    json answer = jet_stream.ask(operation, config);
    const int error = error_of(answer);
    const bool has_few_servers = error == kTooFewServers || error == kNoCluster;
    if (replicas || !has_few_servers) {
      if (error == 0) replicas = config["num_replicas"].get<int>();
      return answer;
    }
    if (error == kTooFewServers && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kCreationPause);
      continue;
    }
    if (error == kTooFewServers)
      log(LogLevel::warning, "cluster: fewer than " + std::to_string(kUsualReplicas) +
                                 " servers are there, so one keeps each message of a new site");
    replicas = 1;
  }
}

[[noreturn]] void refuse_stream(const Site& site, const std::string& name, const std::string& what,
                                const json& answer) {
  throw ClusterError(ErrorCode::broker_refused,
                     "stream " + name + " of the site " + quote(site.name()) + " cannot be " +
                         what + ": " + printable(answer["error"].value("description", "")));
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
                       {"max_msgs_per_subject", is_log(kind) ? -1 : 1},
                       {"num_replicas", replicas},
                       {"duplicate_window", 120'000'000'000}});
    json& config = streams.back();
    if (is_fixed(kind)) config["discard_new_per_subject"] = true;
    if (is_log(kind)) {
      const bool has_records = kind == Kind::record;
      config["max_age"] = has_records ? kDay : 7 * kDay;
      config["max_bytes"] = has_records ? kGiga : kGiga / 10;
    }
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

std::string last_name(std::string_view subject) {
  std::string name = last_token(subject);
  if (find_invalid_utf8(name) < name.size())
    throw ClusterError(ErrorCode::invalid_message,
                       "the subject " + quote(subject) + " has a name that is not UTF-8");
  return name;
}

void prepare_streams(JetStream& jet_stream, const Site& site, bool may_create, int replicas) {
  // Of new streams: as many as the servers allow, once that is known.
  std::optional<int> allowed;
  if (replicas > 0) allowed = replicas;
  for (const json& wanted : site.streams(std::max(replicas, 1))) {
    const std::string name = wanted.at("name");
    json answer = jet_stream.ask("STREAM.INFO." + name, nullptr);
    const bool is_missing = answer.contains("error") && answer["error"].value("code", 0) == 404;
    if (is_missing && !may_create)
      throw ClusterError(ErrorCode::broker_unfit,
                         "the broker has no site " + quote(site.name()) +
                             ": a worker or a job creates it; check the name");
    if (is_missing) {
      const json created = create_stream(jet_stream, wanted, allowed);
      // Another process may have created it meanwhile.
      answer = created.contains("error") ? jet_stream.ask("STREAM.INFO." + name, nullptr) : created;
      if (answer.contains("error")) refuse_stream(site, name, "created", created);
    }
    if (answer.contains("error")) refuse_stream(site, name, "looked up", answer);
    if (replicas == 0 && !is_missing && answer.contains("cluster") &&
        answer.at("config").value("num_replicas", 1) == 1)
      log(LogLevel::warning, "cluster: only one server keeps stream " + name + "; " +
                                 remedy(name, "num_replicas", kUsualReplicas) +
                                 " if there are as many servers");
    const json expected = with_defaults(wanted);
    for (const auto& [key, value] : expected.items()) {
      if ((key == "num_replicas" && replicas == 0) || key == "duplicate_window") continue;
      const bool is_size = key == "max_age" || key == "max_bytes";
      if (is_size && wanted.contains(key)) continue;  // the site's own choice
      const json found = answer.at("config").value(key, json());
      const bool is_equal =
          found == value || (found.is_null() && (value == json(0) || value == json(false)));
      if (!is_equal)
        throw ClusterError(ErrorCode::broker_unfit,
                           "stream " + name + ": \"" + key + "\" is " + found.dump() +
                               ", but must be " + value.dump() + "; " + remedy(name, key, value));
    }
  }
}

}  // namespace vcap
