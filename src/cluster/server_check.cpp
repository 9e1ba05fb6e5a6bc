// SPDX-License-Identifier: Apache-2.0
#include "cluster/server_check.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// With the streams' settings that vcap uses.
constexpr std::pair kFirstVersion{2, 9};
/// For a task, its result or a chunk of an object, with headers.
constexpr std::uint64_t kLargestMessage = std::uint64_t{1} << 20;

[[noreturn]] void refuse_server(const std::string& fault) {
  throw ClusterError(ErrorCode::broker_unfit, "the broker cannot be used: " + fault);
}

/// The first two numbers; `nullopt` for something else.
std::optional<std::pair<int, int>> version_of(const std::string& text) {
  std::pair version{0, 0};
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  if (std::from_chars(major.ptr + 1, end, version.second).ec != std::errc()) return std::nullopt;
  return version;
}

}  // namespace

void check_server(JetStream& jet_stream) {
  const std::optional<BrokerServer> server = jet_stream.broker().server();
  if (server) {
    const auto version = version_of(server->version);
    if (version && *version < kFirstVersion)
      refuse_server("it is nats-server " + printable(server->version) +
                    "; install version 2.9 or later");
    if (server->largest_message < kLargestMessage)
      refuse_server("it takes messages of " + std::to_string(server->largest_message) +
                    " bytes; put \"max_payload: 1MB\" into its configuration");
  }
  const bool is_expected = !server || server->has_jet_stream;
  if (!jet_stream.is_enabled(is_expected))
    refuse_server(
        is_expected ? "JetStream is not enabled for the account of this login; put "
                      "\"jetstream: enabled\" into that account in the server's configuration"
                    : "JetStream is not enabled; put \"jetstream { store_dir: FOLDER }\" into the "
                      "server's configuration");
}

}  // namespace vcap
