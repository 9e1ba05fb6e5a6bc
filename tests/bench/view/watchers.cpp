// SPDX-License-Identifier: Apache-2.0
#include "view/watchers.hpp"

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "support/view_client.hpp"

namespace vcap::bench {

Watchers::Watchers(std::uint16_t port, const std::vector<std::string>& queries) {
  constexpr std::size_t kAtOnce = std::size_t{64} << 10;
  for (const std::string& query : queries) {
    const auto& connection =
        connections_.emplace_back(std::make_unique<test::LoopbackConnection>(port));
    connection->send("GET /api/v1/live?" + query +
                     " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n\r\n");
    threads_.emplace_back([reads = connection.get()] {
      while (!reads->read_some(kAtOnce).empty()) {
      }
    });
  }
}

Watchers::~Watchers() {
  for (const auto& connection : connections_) connection->end();
}

int watch(int count, char** arguments) {
  if (count != 3) throw std::invalid_argument("a port, a number of viewers and a query are needed");
  const std::vector<std::string> queries(std::strtoul(arguments[1], nullptr, 10), arguments[2]);
  const Watchers watchers(static_cast<std::uint16_t>(std::strtoul(arguments[0], nullptr, 10)),
                          queries);
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));  // until it is killed
}

Process start_watchers(std::uint16_t port, int viewers, const std::string& query) {
  return Process({std::filesystem::read_symlink("/proc/self/exe").native(), kWatch,
                  std::to_string(port), std::to_string(viewers), query});
}

void wait_for_viewers(const LiveView& view, int viewers) {
  const test::ViewClient client(view);
  const auto there_are = [&](const test::HttpAnswer& answer) {
    return answer.status == 200 && nlohmann::json::parse(answer.body)["viewers"] == viewers;
  };
  if (!there_are(test::ask_until([&] { return client.get("/api/v1/state"); }, there_are)))
    throw std::runtime_error("the viewers do not come");
}

}  // namespace vcap::bench
