// SPDX-License-Identifier: Apache-2.0
#include "cli/publish_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "files/digest.hpp"
#include "files/url.hpp"

namespace vcap::cli {
namespace {

/// What must not be on a command line, since other users can read it.
struct Secrets {
  std::string user;
  std::string password;
  std::string secret;
};

struct SecretName {
  std::string_view name;  ///< in a file
  const char* variable;   ///< of the environment
  std::string Secrets::*value;
};

constexpr SecretName kSecrets[] = {{"user", "VCAP_PUBLISH_USER", &Secrets::user},
                                   {"password", "VCAP_PUBLISH_PASSWORD", &Secrets::password},
                                   {"secret", "VCAP_PUBLISH_SECRET", &Secrets::secret}};

/// Lines such as "password=…". Messages name no value.
void read_secret_file(const std::string& path, Secrets& secrets) {
  std::ifstream file(path);
  if (!file) throw UsageError("--publish-secret-file " + path + " cannot be read; check the path");
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t equals = line.find('=');
    const auto* const found =
        std::ranges::find(kSecrets, std::string_view(line).substr(0, std::min(equals, line.size())),
                          &SecretName::name);
    if (equals == line.npos || found == std::end(kSecrets))
      throw UsageError("--publish-secret-file " + path + ", line " + std::to_string(number) +
                       ": it must begin with user=, password= or secret=");
    secrets.*(found->value) = line.substr(equals + 1);
  }
}

/// The file goes before the environment.
Secrets read_secrets(const std::string& path) {
  Secrets secrets;
  for (const SecretName& one : kSecrets)
    if (const char* const value = std::getenv(one.variable); value != nullptr)
      secrets.*(one.value) = value;
  if (!path.empty()) read_secret_file(path, secrets);
  return secrets;
}

/// A URL of --publish. Thread safety: value.
struct Destination {
  std::string scheme;
  std::string user;
  std::string hosts;  ///< with ports
  std::string path;   ///< without its slash
};

[[noreturn]] void refuse_url(const std::string& shown, const std::string& why) {
  throw UsageError(shown + ' ' + why);
}

Destination parse_destination(const std::string& shown, const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos)
    refuse_url(shown, "is no URL; give mqtt://HOST/TOPIC, kafka://HOST:PORT/TOPIC or https://…");
  const std::size_t begin = scheme + 3;
  const std::size_t slash = std::min(url.find('/', begin), url.size());
  Destination to{.scheme = url.substr(0, scheme),
                 .user = "",
                 .hosts = url.substr(begin, slash - begin),
                 .path = slash < url.size() ? url.substr(slash + 1) : ""};
  if (const std::size_t at = to.hosts.rfind('@'); at != to.hosts.npos) {
    to.user = to.hosts.substr(0, at);
    to.hosts = to.hosts.substr(at + 1);
  }
  if (to.user.find(':') != to.user.npos)
    refuse_url(shown,
               "has a password, which others could see; give it by --publish-secret-file or "
               "VCAP_PUBLISH_PASSWORD");
  return to;
}

/// Removes the port from "host:port", if there is one.
std::uint16_t take_port(const std::string& shown, std::string& host) {
  const std::size_t colon = host.rfind(':');
  const bool is_in_brackets = colon != host.npos && host.find(']', colon) != host.npos;
  std::uint16_t port = 0;
  if (colon != host.npos && !is_in_brackets) {
    const std::string text = host.substr(colon + 1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size() || port == 0)
      refuse_url(shown, "has no valid port; it must be within 1 to 65535");
    host.resize(colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return port;
}

std::string with_capsules(std::string topic, const std::vector<std::string>& capsules) {
  std::string names;
  for (const std::string& name : capsules) names += (names.empty() ? "" : "-") + name;
  constexpr std::string_view kPlace = "{capsule}";
  for (std::size_t at = 0; (at = topic.find(kPlace, at)) != topic.npos; at += names.size())
    topic.replace(at, kPlace.size(), names);
  return topic;
}

/// What all publishers of a run have in common.
struct Shared {
  Secrets secrets;
  std::string certificates;
  PublishPolicy policy;
};

std::unique_ptr<Publisher> open_publisher(const std::string& shown, const std::string& url,
                                          const std::vector<std::string>& capsules,
                                          const Shared& shared, const SpoolSettings& spool) {
  Destination to = parse_destination(shown, url);
  const Secrets& secrets = shared.secrets;
  const std::string user = to.user.empty() ? secrets.user : to.user;
  const std::string topic = with_capsules(to.path, capsules);
  if (to.scheme == "mqtt" || to.scheme == "mqtts") {
    const std::uint16_t port = take_port(shown, to.hosts);
    return make_mqtt_publisher({.host = to.hosts,
                                .port = port,
                                .topic = topic,
                                .tls = to.scheme == "mqtts",
                                .certificates = shared.certificates,
                                .user = user,
                                .password = secrets.password},
                               spool, shared.policy);
  }
  if (to.scheme == "kafka" || to.scheme == "kafkas")
    return make_kafka_publisher({.servers = to.hosts,
                                 .topic = topic,
                                 .tls = to.scheme == "kafkas",
                                 .certificates = shared.certificates,
                                 .user = user,
                                 .password = secrets.password},
                                spool, shared.policy);
  if (to.scheme != "http" && to.scheme != "https")
    refuse_url(shown, "has another scheme than mqtt, mqtts, kafka, kafkas, http and https");
  if (secrets.secret.empty())
    refuse_url(shown,
               "needs a secret to sign its messages with; give secret=… in a file "
               "(--publish-secret-file), or VCAP_PUBLISH_SECRET");
  return make_webhook_publisher(
      {.url = url, .secret = secrets.secret, .certificates = shared.certificates}, spool,
      shared.policy);
}

std::string name_in_metrics(const char* option, const std::string& name) {
  std::string shown = name;
  if (name.starts_with("http://") || name.starts_with("https://"))
    shown = name.substr(0, name.find_first_of("/?#", name.find("://") + 3));
  return (option == std::string_view("--publish") ? "events to " : "frames to ") + shown;
}

/// The name of a spool: the same in the next run, and another for another URL.
std::string spool_name(const char* option, const std::string& url) {
  const std::string kind = option == std::string_view("--publish") ? "events-" : "frames-";
  return kind + url.substr(0, url.find("://")) + '-' +
         sha256(std::as_bytes(std::span(url.data(), url.size()))).substr(0, 12);
}

}  // namespace

void PublishArguments::add_to(CLI::App& command, CLI::Option* event_rules) {
  command
      .add_option(
          "--publish", events,
          "Also sends the begin and end of each event as a message, to a broker or server: "
          "mqtt[s]://HOST[:PORT]/TOPIC, kafka[s]://HOST:PORT/TOPIC or http[s]://…; {stream} "
          "and {capsule} in an MQTT topic are replaced; needs --events and --spool; may be "
          "repeated")
      ->type_name("URL")
      ->allow_extra_args(false)
      ->needs(event_rules);
  command
      .add_option("--publish-frames", frames,
                  "Sends each frame's record as a message; needs --spool; may be repeated")
      ->type_name("URL")
      ->allow_extra_args(false);
  command
      .add_option("--spool", spool,
                  "Messages wait in this folder until they are delivered, also over the end of a "
                  "run; the next run with the same folder and URL sends them")
      ->type_name("FOLDER");
  command
      .add_option("--spool-size", spool_mib,
                  "The most that waits for each URL; beyond it the oldest messages are lost, and "
                  "counted in the summary")
      ->type_name("MIB")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30))
      ->capture_default_str();
  command
      .add_option("--publish-wait", wait,
                  "How long the end of a run waits for messages that are not delivered yet")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command
      .add_option("--publish-secret-file", secret_file,
                  "A file with lines user=…, password=… (MQTT, Kafka) and secret=… (the key that "
                  "signs messages by HTTP); without it: VCAP_PUBLISH_USER, VCAP_PUBLISH_PASSWORD, "
                  "VCAP_PUBLISH_SECRET")
      ->type_name("PATH");
  command
      .add_option("--publish-ca", certificates,
                  "A PEM file of the authorities to trust with TLS, in place of the system's")
      ->type_name("PATH");
}

std::vector<NamedPublisher> PublishArguments::open_events(
    const std::vector<std::string>& capsules) const {
  return open("--publish", events, capsules);
}

std::vector<NamedPublisher> PublishArguments::open_frames(
    const std::vector<std::string>& capsules) const {
  return open("--publish-frames", frames, capsules);
}

std::vector<NamedPublisher> PublishArguments::open(const char* option,
                                                   const std::vector<std::string>& urls,
                                                   const std::vector<std::string>& capsules) const {
  std::vector<NamedPublisher> publishers;
  if (urls.empty()) return publishers;
  if (spool.empty())
    throw UsageError(std::string(option) +
                     " needs --spool, a folder where messages wait until they are delivered");
  const auto end_wait =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(wait));
  const Shared shared{.secrets = read_secrets(secret_file),
                      .certificates = certificates,
                      .policy = {.end_wait = end_wait}};
  for (const std::string& url : urls) {
    const std::string name = is_url(url) ? without_password(url) : quote(url);
    const std::string folder =
        (std::filesystem::absolute(spool) / spool_name(option, url)).string();
    publishers.push_back({name, name_in_metrics(option, name),
                          open_publisher(std::string(option) + ' ' + name, url, capsules, shared,
                                         {folder, spool_mib << 20})});
  }
  return publishers;
}

std::string publisher_line(const NamedPublisher& one) {
  const PublisherStats stats = one.publisher->stats();
  std::string line =
      "messages to " + one.name + ": " + std::to_string(stats.delivered) + " delivered";
  if (stats.refused > 0) line += ", " + std::to_string(stats.refused) + " refused";
  if (stats.waiting > 0)
    line += ", " + std::to_string(stats.waiting) + " not sent, which stay in the spool";
  for (const auto& [reason, count] : stats.lost)
    line += ", " + std::to_string(count) + " lost (" + reason + ')';
  if (stats.last_failure && (stats.waiting > 0 || !stats.lost.empty()))
    line += "; the last failure: " + *stats.last_failure;
  return line + '\n';
}

}  // namespace vcap::cli
