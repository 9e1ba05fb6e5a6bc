// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/nats_text.hpp"
#include "cluster/nkey.hpp"
#include "cluster/permissions.hpp"
#include "loading/crypto/secret_bytes.hpp"
#include "vcap/base/error.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array kRoles{ClusterRole::worker, ClusterRole::client, ClusterRole::reader};
/// The port for the other servers, beyond the one for clients: 6222 for 4222, as is usual.
constexpr int kRoutePortOffset = 2'000;
constexpr int kLastPort = 65'535 - kRoutePortOffset;
constexpr const char* kRoutesFile = "routes.conf";

struct ConfigArguments {
  std::string folder;
  std::vector<std::string> servers{"127.0.0.1:4222"};
  std::string site = "site";
  int replicas = 0;
  std::string storage = "10GB";
  std::string store = "/var/lib/nats";
  std::string certificate;
  std::string key;
  std::string authorities;
  bool verify_clients = false;
  bool overwrite = false;

  bool has_tls() const { return !certificate.empty(); }
};

struct Server {
  std::string host;  ///< an IPv6 address has brackets
  int port = 0;

  std::string address() const { return host + ':' + std::to_string(port); }
  std::string route_address() const { return host + ':' + std::to_string(port + kRoutePortOffset); }
};

Server server_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Server server;
  if (colon != text.npos) {
    server.host = text.substr(0, colon);
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data() + colon + 1, end, server.port).ptr != end) server.port = 0;
  }
  const bool is_bracketed = server.host.starts_with('[') && server.host.ends_with(']');
  constexpr std::string_view kHostCharacters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]";
  if (server.host.empty() || server.port < 1 || server.port > kLastPort ||
      server.host.find_first_not_of(kHostCharacters) != std::string::npos ||
      (!is_bracketed && server.host.find_first_of(":[]") != std::string::npos))
    throw UsageError("--servers " + quote(text) + " is not HOST:PORT with a port of 1 to " +
                     std::to_string(kLastPort) + "; the servers also use PORT + " +
                     std::to_string(kRoutePortOffset) + " among themselves");
  return server;
}

std::vector<Server> servers_of(const ConfigArguments& arguments) {
  std::vector<Server> servers;
  for (const std::string& text : arguments.servers) {
    servers.push_back(server_of(text));
    for (std::size_t i = 0; i + 1 < servers.size(); ++i)
      if (servers[i].address() == servers.back().address())
        throw UsageError("--servers has " + quote(text) + " twice");
  }
  return servers;
}

int replicas_of(const ConfigArguments& arguments, std::size_t servers) {
  const int replicas = arguments.replicas > 0 ? arguments.replicas : servers >= 3 ? 3 : 1;
  if (static_cast<std::size_t>(replicas) > servers)
    throw UsageError(
        "--replicas " + std::to_string(replicas) + ": there " +
        (servers == 1 ? "is one server" : "are " + std::to_string(servers) + " servers") +
        "; each keeps at most one replica");
  return replicas;
}

void check_size(const std::string& size) {
  const std::size_t digits = std::min(size.find_first_not_of("0123456789"), size.size());
  const std::string unit = size.substr(digits);
  constexpr std::array kUnits{"KB", "MB", "GB", "TB"};
  if (digits == 0 || digits > 6 || size.starts_with('0') ||
      std::ranges::find(kUnits, unit) == kUnits.end())
    throw UsageError("--max-storage " + quote(size) + " is not a size such as 500MB, 10GB or 2TB");
}

std::string server_name(std::size_t number) { return "vcap-" + std::to_string(number); }
std::string server_file(std::size_t number) { return "server-" + std::to_string(number) + ".conf"; }
std::string site_file(const std::string& site) { return "site-" + site + ".conf"; }
std::string key_file(ClusterRole role) { return std::string(to_string(role)) + ".nk"; }

/// With `indent` before each line.
std::string tls_block(const ConfigArguments& arguments, const std::string& indent, bool verify) {
  std::string text = indent + "tls {\n" + indent +
                     "  cert_file: " + as_nats_text(arguments.certificate) + '\n' + indent +
                     "  key_file: " + as_nats_text(arguments.key) + '\n';
  if (!arguments.authorities.empty())
    text += indent + "  ca_file: " + as_nats_text(arguments.authorities) + '\n';
  if (verify) text += indent + "  verify: true\n";
  return text + indent + "}\n";
}

std::string server_text(const ConfigArguments& arguments, const std::vector<Server>& servers,
                        std::size_t number) {
  const Server& server = servers[number - 1];
  std::string text = "# Written by vcap cluster config.\nserver_name: " + server_name(number) +
                     "\nlisten: " + as_nats_text(server.address()) +
                     "\nmax_payload: 1MB\n"
                     "# A client that is cut off is noticed after 60 seconds.\n"
                     "ping_interval: \"20s\"\nping_max: 2\nwrite_deadline: \"10s\"\n"
                     "jetstream {\n  store_dir: " +
                     as_nats_text((fs::path(arguments.store) / server_name(number)).string()) +
                     "\n  max_file: " + arguments.storage +
                     "\n  # For consumers that only read.\n  max_mem: 256MB\n}\n";
  if (arguments.has_tls()) text += tls_block(arguments, "", arguments.verify_clients);
  if (servers.size() > 1) {
    text += "cluster {\n  name: vcap\n  listen: " + as_nats_text(server.route_address()) +
            "\n  include " + as_nats_text(kRoutesFile) + '\n';
    if (arguments.has_tls()) text += tls_block(arguments, "  ", !arguments.authorities.empty());
    text += "}\n";
  }
  return text + "accounts {\n  include " + as_nats_text(site_file(arguments.site)) + "\n}\n";
}

/// The password of the servers in the configuration that exists, so that those that have it can go
/// on; else a new one.
std::string route_password(const fs::path& routes) {
  std::ifstream in(routes);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  constexpr std::string_view kBefore = "password: \"";
  const std::size_t before = text.find(kBefore);
  if (before == text.npos) return Uuid::random().to_string() + Uuid::random().to_string();
  const std::size_t begin = before + kBefore.size();
  return text.substr(begin, text.find_first_not_of("0123456789abcdef-", begin) - begin);
}

/// The same for all servers. A server that does not know the password cannot join.
std::string routes_text(const std::vector<Server>& servers, const std::string& password) {
  std::string text =
      "# Written by vcap cluster config. Secret: who knows the password can join as a server.\n"
      "authorization {\n  user: route\n  password: " +
      as_nats_text(password) + "\n}\nroutes: [\n";
  for (const Server& server : servers)
    text +=
        "  " + as_nats_text("nats-route://route:" + password + '@' + server.route_address()) + '\n';
  return text + "]\n";
}

std::string list_text(const std::vector<std::string>& subjects) {
  std::string text = "[\n";
  for (const std::string& subject : subjects) text += "          " + as_nats_text(subject) + '\n';
  return text + "        ]";
}

/// An account for each site: its subjects and streams are not those of another one.
std::string site_text(const std::string& site, const std::map<ClusterRole, Nkey>& keys) {
  std::string text = "# Written by vcap cluster config.\n" + as_nats_text("vcap_" + site) +
                     ": {\n  jetstream: enabled\n  users: [\n";
  for (const auto& [role, key] : keys) {
    const LoginPermissions permissions = permissions_of(site, role, key.inbox());
    text += "    {\n      # " + std::string(to_string(role)) +
            "\n      nkey: " + as_nats_text(key.public_key()) +
            "\n      permissions: {\n        publish: { allow: " + list_text(permissions.publish) +
            " }\n        subscribe: { allow: " + list_text(permissions.subscribe) +
            " }\n      }\n    }\n";
  }
  return text + "  ]\n}\n";
}

/// Only the owner may read it, since some of them have passwords.
void write_text(const fs::path& path, const std::string& text) {
  const fs::path written = path.native() + ".new";
  std::error_code error;
  fs::remove(written, error);
  write_key_file(written, std::as_bytes(std::span(text)), KeyFile::secret);
  fs::rename(written, path, error);
  if (!error) return;
  fs::remove(written);
  throw OutputError(ErrorCode::output_write,
                    quote(path.native()) + " cannot be written: " + error.message());
}

void say_what_to_copy(const ConfigArguments& arguments, const std::vector<Server>& servers,
                      int replicas, bool has_kept_keys) {
  std::string url;
  for (const Server& server : servers)
    url += (url.empty() ? "" : ",") + std::string(arguments.has_tls() ? "tls://" : "nats://") +
           server.address();
  const std::string others =
      (servers.size() > 1 ? kRoutesFile + std::string(" and ") : "") + site_file(arguments.site);
  std::cout << "In " << arguments.folder << ":\n";
  for (std::size_t i = 1; i <= servers.size(); ++i)
    std::cout << "  " << server_file(i) << "  for " << servers[i - 1].address() << ": copy it with "
              << others << " into one folder there, and run nats-server -c " << server_file(i)
              << '\n';
  std::cout
      << "  worker.nk      for machines with vcap worker\n"
         "  client.nk      for those who submit jobs and add streams: vcap run --cluster, vcap "
         "stream add\n"
         "  reader.nk      for those who only look: vcap cluster status, vcap stream records\n"
         "The .nk files are secret; the servers need none of them."
      << (has_kept_keys ? " Those that existed were kept." : "") << '\n';
  if (servers.size() > 1) std::cout << kRoutesFile << " is secret, too; it is for servers only.\n";
  if (!arguments.has_tls())
    std::cout << "Without --certificate, what is sent is neither encrypted nor protected: use such "
                 "servers on a trusted network only.\n";
  std::cout << "  vcap worker --nats " << url << " --site " << arguments.site << " --nkey worker.nk"
            << (arguments.authorities.empty() ? "" : " --ca AUTHORITIES.pem")
            << (arguments.verify_clients ? " --certificate OWN.pem --private-key OWN.key" : "")
            << " --replicas " << replicas << " --capsules FOLDER\n"
            << std::flush;
}

int write_configuration(const ConfigArguments& arguments) {
  const std::vector<Server> servers = servers_of(arguments);
  const int replicas = replicas_of(arguments, servers.size());
  check_size(arguments.storage);
  permissions_of(arguments.site, ClusterRole::reader, "");  // checks the name of the site
  if (arguments.has_tls() && servers.size() > 1 && arguments.authorities.empty())
    throw UsageError("several servers check each other's certificates; give --ca");
  if (arguments.verify_clients && arguments.authorities.empty())
    throw UsageError(
        "--verify-clients needs the authorities of the clients' certificates; give --ca");

  const fs::path folder = arguments.folder;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw OutputError(ErrorCode::output_open, "the folder " + quote(folder.native()) +
                                                  " cannot be created: " + error.message());
  std::vector<std::string> names{site_file(arguments.site)};
  if (servers.size() > 1) names.emplace_back(kRoutesFile);
  for (std::size_t i = 1; i <= servers.size(); ++i) names.push_back(server_file(i));
  for (const ClusterRole role : kRoles) names.push_back(key_file(role));
  for (const std::string& name : names)
    if (!arguments.overwrite && fs::exists(folder / name))
      throw OutputError(
          ErrorCode::output_open,
          quote((folder / name).native()) +
              " exists; give another --dir, or --overwrite, which keeps keys and passwords");

  std::map<ClusterRole, Nkey> keys;
  bool has_kept_keys = false;
  for (const ClusterRole role : kRoles) {
    const fs::path path = folder / key_file(role);
    const bool is_kept = fs::exists(path);
    has_kept_keys = has_kept_keys || is_kept;
    Nkey key = is_kept ? Nkey::from_file(path) : Nkey::generate();
    if (!is_kept) key.save(path);
    keys.emplace(role, std::move(key));
  }
  write_text(folder / site_file(arguments.site), site_text(arguments.site, keys));
  const fs::path routes = folder / kRoutesFile;
  if (servers.size() > 1) write_text(routes, routes_text(servers, route_password(routes)));
  for (std::size_t i = 1; i <= servers.size(); ++i)
    write_text(folder / server_file(i), server_text(arguments, servers, i));
  say_what_to_copy(arguments, servers, replicas, has_kept_keys);
  return kDone;
}

}  // namespace

void add_cluster_config(CLI::App& cluster, Action& chosen) {
  auto arguments = std::make_shared<ConfigArguments>();
  CLI::App* const command = cluster.add_subcommand(
      "config",
      "Writes the configuration of NATS servers for a site, with logins for workers, clients and "
      "readers, and says what to copy where");
  command->add_option("--dir", arguments->folder, "The folder for the files")
      ->type_name("FOLDER")
      ->required();
  command
      ->add_option("--servers", arguments->servers,
                   "The servers, with the addresses on which they listen; best one, three or five")
      ->type_name("HOST:PORT")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--site", arguments->site, "The name of the site")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--replicas", arguments->replicas,
                   "How many servers keep each message; 0: 3 if there are as many servers, else 1")
      ->check(CLI::Range(0, 5).description(""))
      ->capture_default_str();
  command
      ->add_option("--max-storage", arguments->storage,
                   "How much a server may store, such as 500MB or 2TB")
      ->type_name("SIZE")
      ->capture_default_str();
  command
      ->add_option("--store", arguments->store,
                   "The folder on the servers for what they store, in a folder for each server")
      ->type_name("FOLDER")
      ->capture_default_str();
  CLI::Option* const certificate =
      command
          ->add_option("--certificate", arguments->certificate,
                       "Encrypts with TLS: the path, on each server, of the PEM file of its "
                       "certificate")
          ->type_name("PATH");
  CLI::Option* const key =
      command
          ->add_option("--private-key", arguments->key,
                       "The path, on each server, of the PEM file of its private key")
          ->type_name("PATH");
  certificate->needs(key);
  key->needs(certificate);
  command
      ->add_option("--ca", arguments->authorities,
                   "The path, on each server, of the PEM file of the authorities that it trusts")
      ->type_name("PATH")
      ->needs(certificate);
  command
      ->add_flag("--verify-clients", arguments->verify_clients,
                 "Also demands a certificate of each client")
      ->needs(certificate);
  command->add_flag("--overwrite", arguments->overwrite,
                    "Writes files that exist anew, but keeps the keys and the password");
  command->footer(kExitCodesHelp);
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return write_configuration(*arguments); }; });
}

}  // namespace vcap::cli
