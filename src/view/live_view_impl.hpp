// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "pipeline/http_listener.hpp"
#include "pipeline/http_server.hpp"
#include "vcap/view/live_view.hpp"
#include "view/live_access.hpp"
#include "view/live_broadcast.hpp"
#include "view/live_errors.hpp"
#include "view/live_log.hpp"
#include "view/live_recordings.hpp"
#include "view/live_routes.hpp"
#include "view/live_work.hpp"
#include "view/shown_pipelines.hpp"

namespace vcap {

/// What streams give to a view; outlives it in their sinks. Thread safety: thread-safe.
struct LiveInputs {
  LiveRecords records{};
  LiveErrors errors{};
  LiveRecordings recordings{};
};

struct LiveView::Impl final : HttpHandler {
  /// `streams`: a Pipeline& or ViewedStreams.
  template <class Streams>
  Impl(Streams&& streams, LiveViewSettings given)
      : shown(std::forward<Streams>(streams)),
        settings(std::move(given)),
        access(settings.tokens),
        listener("the live view", settings.address) {
    start();
  }
  ~Impl() override;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void start();

  // HttpHandler
  std::variant<BodyRule, HttpAnswer> admit(const HttpRequest& head) override;
  void respond(HttpRequest request, HttpReply reply) override;

  const LiveRoute& find_route(const HttpRequest& request) const;
  LiveClient client_of(const HttpRequest& request, const LiveRoute& route) const;
  void check_origin(const HttpRequest& request, const LiveRoute& route) const;
  HttpAnswer answer(const LiveRoute& route, const LiveCall& call) const;

  // The table of routes.
  void add_pages();
  void add_queries();
  void add_changes();
  void add_admin_changes();

  // Queries. [server thread]
  nlohmann::json me(const LiveCall& call) const;
  nlohmann::json state(const std::optional<std::set<std::string>>& allowed,
                       std::uint64_t log_from) const;
  nlohmann::json capsules() const;
  HttpAnswer live(const LiveCall& call);
  HttpAnswer picture(const LiveCall& call);
  HttpAnswer record(const LiveCall& call);

  // Changes. [threads of `work`]
  nlohmann::json set_option(const LiveCall& call);
  nlohmann::json set_config(const LiveCall& call);
  nlohmann::json add_stream(const LiveCall& call);
  nlohmann::json remove_stream(const LiveCall& call);
  /// Throws LiveRefusal (403) if uploads are not allowed, or without a policy of signatures.
  LoadOptions upload_options(const std::string& capsule) const;
  nlohmann::json replace_capsule(const LiveCall& call);
  nlohmann::json start_recording(const LiveCall& call);
  nlohmann::json stop_recording(const LiveCall& call);

  std::shared_ptr<Sink> sink() const;
  /// Throws LiveRefusal (404).
  void check_stream_exists(const std::string& stream) const;

  const ShownPipelines shown;
  const LiveViewSettings settings;
  const LiveAccess access;
  const std::shared_ptr<LiveInputs> inputs = std::make_shared<LiveInputs>();
  LiveLog log{};
  std::vector<LiveRoute> routes{};
  HttpListener listener;
  // In the order of use: each is destroyed before what it uses.
  std::unique_ptr<LiveBroadcast> broadcast{};
  std::unique_ptr<LiveWork> work = std::make_unique<LiveWork>();
  std::unique_ptr<HttpServer> server{};
  std::atomic<HttpServer*> awake = nullptr;  ///< for the broadcast, which begins before the server
};

}  // namespace vcap
