// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/live_view.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/make_annotators.hpp"
#include "view/live_view_impl.hpp"

namespace vcap {
namespace {

class LiveSink final : public Sink {
 public:
  explicit LiveSink(std::shared_ptr<LiveInputs> inputs) : inputs_(std::move(inputs)) {}
  void write(const FrameRecord& record) override {
    inputs_->records.put(record, std::chrono::steady_clock::now());
    if (!record.errors.empty()) inputs_->errors.add(record);
    inputs_->recordings.write(record);
  }

 private:
  const std::shared_ptr<LiveInputs> inputs_;
};

/// The page may be shown in no other page, and loads nothing from elsewhere.
std::map<std::string, std::string> page_headers() {
  return {{"Content-Security-Policy",
           "default-src 'self'; img-src 'self' blob:; frame-ancestors 'none'; form-action 'none'; "
           "base-uri 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

/// Throws InvalidArgument if LiveViewSettings::draw is wrong.
LiveBroadcast::MakeAnnotator annotators_of(const LiveViewSettings& settings) {
  make_annotators(settings.draw);
  return [&settings](const std::string& stream) {
    std::unique_ptr<Annotator> own;
    if (settings.make_annotator) own = settings.make_annotator(stream);
    return own ? std::move(own) : make_annotators(settings.draw);
  };
}

}  // namespace

void LiveView::Impl::start() {
  settings.limits.check();
  check(settings.tokens);
  if (!listener.is_loopback() && !access.needs_token())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the live view has no tokens, so it cannot listen at " +
                              printable(settings.address) +
                              ", which other machines can reach; give tokens, or 127.0.0.1:PORT");
  add_pages();
  add_queries();
  add_changes();
  add_admin_changes();
  broadcast = std::make_unique<LiveBroadcast>(
      inputs->records, annotators_of(settings),
      LiveBroadcast::Callbacks{
          .streams =
              [this] {
                std::set<std::string> streams = shown.streams();
                inputs->errors.keep(streams);  // also if nobody asks for the state
                return streams;
              },
          .state = [this](const auto& allowed, std::uint64_t from) { return state(allowed, from); },
          .next_log_line = [this] { return log.next(); },
          .wake =
              [this] {
                if (HttpServer* const running = awake) running->wake();
              }});
  const std::shared_ptr<HttpHandler> handler(std::shared_ptr<void>(), this);  // owned by the view
  server = std::make_unique<HttpServer>(
      listener.release(), handler,
      HttpServer::Settings{.limits = settings.limits, .tls = settings.tls});
  awake = server.get();
}

LiveView::Impl::~Impl() {
  broadcast->stop();
  server.reset();
}

std::shared_ptr<Sink> LiveView::Impl::sink() const { return std::make_shared<LiveSink>(inputs); }

const LiveRoute& LiveView::Impl::find_route(const HttpRequest& request) const {
  std::string methods;
  for (const LiveRoute& route : routes) {
    if (route.path != request.path) continue;
    if (route.method == request.method || (route.method == "GET" && request.method == "HEAD"))
      return route;
    methods += (methods.empty() ? "" : ", ") + route.method;
  }
  if (methods.empty())
    throw LiveRefusal(404, "the live view has no " + quote(request.path), "not_found");
  throw LiveRefusal(405, request.path + " takes " + methods, "method");
}

/// Without tokens, a page of another site could read the view through a name that leads to this
/// machine. With or without, no page of another site may change anything.
void LiveView::Impl::check_origin(const HttpRequest& request, const LiveRoute& route) const {
  const std::string port = ":" + std::to_string(listener.port());
  if (!access.needs_token() && request.host != "127.0.0.1" + port &&
      request.host != "localhost" + port)
    throw LiveRefusal(403,
                      "without tokens, the live view answers only at http://127.0.0.1" + port +
                          "/ and http://localhost" + port + "/",
                      "host");
  const std::string origin = request.header("origin");
  const std::size_t name = origin.find("://");
  if (!origin.empty() && (name == std::string::npos || origin.substr(name + 3) != request.host))
    throw LiveRefusal(403, "the page of another site, " + quote(origin) + ", asks", "origin");
  if (route.changes() && request.header("x-vcap").empty())
    throw LiveRefusal(403, "a change needs the header X-Vcap: 1", "origin");
}

LiveClient LiveView::Impl::client_of(const HttpRequest& request, const LiveRoute& route) const {
  if (!route.role) return {};
  std::optional<LiveClient> client = access.client(request.header("authorization"));
  if (!client)
    throw LiveRefusal(401, "a token is needed, in the header \"Authorization: Bearer TOKEN\"",
                      "token");
  if (route.changes()) shown.check_can_change();
  if (client->role < *route.role)
    throw LiveRefusal(403,
                      access.needs_token()
                          ? "the token of " + quote(client->name) + " is for the role " +
                                std::string(to_string(client->role)) + "; this needs " +
                                std::string(to_string(*route.role))
                          : "the live view was started without tokens, so it changes nothing",
                      "role");
  const auto stream = request.arguments.find("stream");
  const bool has_stream = stream != request.arguments.end();
  if (route.streams == LiveRoute::Streams::one && !has_stream)
    throw LiveRefusal(400, "the parameter \"stream\" is missing", "parameter");
  if (route.streams != LiveRoute::Streams::any && has_stream && !client->may_see(stream->second))
    throw LiveRefusal(403, "the token of " + quote(client->name) + " is not for this stream",
                      "stream");
  if (route.streams == LiveRoute::Streams::perhaps && !has_stream && client->streams)
    throw LiveRefusal(403,
                      "the token of " + quote(client->name) +
                          " is not for all streams; give the parameter \"stream\"",
                      "stream");
  return *client;
}

std::variant<BodyRule, HttpAnswer> LiveView::Impl::admit(const HttpRequest& request) {
  try {
    const LiveRoute& route = find_route(request);
    check_origin(request, route);
    client_of(request, route);
    BodyRule rule{.most_bytes = route.most_bytes};
    if (route.in_file)
      rule.folder = settings.upload_folder.empty() ? std::filesystem::temp_directory_path()
                                                   : std::filesystem::path(settings.upload_folder);
    return rule;
  } catch (...) {
    HttpAnswer refused = answer_of_failure(std::current_exception());
    refused.headers = page_headers();
    if (refused.status == 401) refused.headers.emplace("WWW-Authenticate", "Bearer");
    return refused;
  }
}

HttpAnswer LiveView::Impl::answer(const LiveRoute& route, const LiveCall& call) const {
  HttpAnswer answer;
  try {
    for (const LiveRoute::Parameter& parameter : route.parameters)
      if (parameter.required && !call.has(parameter.name))
        throw LiveRefusal(400, "the parameter " + quote(parameter.name) + " is missing",
                          "parameter");
    answer = route.answer(call);
  } catch (...) {
    answer = answer_of_failure(std::current_exception());
  }
  answer.headers = page_headers();
  return answer;
}

void LiveView::Impl::respond(HttpRequest request, HttpReply reply) {
  const LiveRoute& route = find_route(request);
  const LiveClient client = client_of(request, route);
  const auto call = std::make_shared<const LiveCall>(LiveCall{std::move(request), client});
  if (!route.is_slow) return reply.send(answer(route, *call));
  const bool added = work->add([this, &route, call, reply] { reply.send(answer(route, *call)); });
  if (!added)
    reply.send(answer_of_failure(std::make_exception_ptr(
        LiveRefusal(503, "too many changes wait; try again later", "busy"))));
}

LiveView::LiveView(Pipeline& pipeline, LiveViewSettings settings)
    : impl_(std::make_unique<Impl>(pipeline, std::move(settings))) {}

LiveView::LiveView(ViewedStreams streams, LiveViewSettings settings)
    : impl_(std::make_unique<Impl>(std::move(streams), std::move(settings))) {}

LiveView::~LiveView() = default;

std::uint16_t LiveView::port() const noexcept { return impl_->listener.port(); }

std::shared_ptr<Sink> LiveView::sink() const { return impl_->sink(); }

void LiveView::log(LogLevel level, std::string_view text) noexcept {
  try {
    impl_->log.add(level, text);
  } catch (...) {  // memory is short: a line of the page is lost, and the host has it
  }
}

std::string LiveView::openapi() const { return vcap::openapi(impl_->routes).dump(2); }

}  // namespace vcap
