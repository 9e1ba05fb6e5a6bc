// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/live_view.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "media/opencv_io.hpp"
#include "pipeline/http_listener.hpp"
#include "pipeline/http_server.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/make_annotators.hpp"
#include "view/live_page.hpp"
#include "view/live_records.hpp"

namespace vcap {
namespace {

constexpr int kJpegQuality = 80;

LiveRecords::time_point now() { return std::chrono::steady_clock::now(); }

class LiveSink final : public Sink {
 public:
  explicit LiveSink(std::shared_ptr<LiveRecords> records) : records_(std::move(records)) {}
  void write(const FrameRecord& record) override { records_->put(record, now()); }

 private:
  const std::shared_ptr<LiveRecords> records_;
};

HttpAnswer json_answer(const nlohmann::json& json) {
  return {.text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
          .type = "application/json"};
}

HttpAnswer not_found(std::string text) { return {.status = 404, .text = std::move(text)}; }

/// One of few, so that a picture is encoded few times whatever clients ask for.
int width_of(const HttpRequest& request) {
  const std::string text = request.argument("width");
  return text == "320" ? 320 : text == "1280" ? 1280 : 640;
}

/// The record's picture with the nodes drawn on it, as a JPEG at most so wide.
std::string draw_live_picture(const FrameRecord& record, int width) {
  cv::Mat image = record.frame.image.clone();
  make_annotators(kDefaultAnnotators)->annotate(image, record.objects, record.frame);
  if (image.cols > width)
    cv::resize(image, image, {width, std::max(1, image.rows * width / image.cols)}, 0, 0,
               cv::INTER_AREA);
  const std::vector<unsigned char> jpeg = opencv_io().encode_image(image, ".jpg", kJpegQuality);
  return {jpeg.begin(), jpeg.end()};
}

}  // namespace

struct LiveView::Impl {
  Impl(const Pipeline& shown, const std::string& host_and_port, const ConnectionLimits& limits);

  // In the server's thread.
  HttpAnswer respond(const HttpRequest& request);
  HttpAnswer respond_of_stream(const HttpRequest& request);
  HttpAnswer picture(const FrameRecord& record, int width);
  bool is_own_host(const std::string& host) const;
  bool has_stream(const std::string& id) const;

  struct Encoded {
    std::int64_t frame = -1;
    std::string jpeg{};
  };

  const Pipeline& pipeline;
  const std::shared_ptr<LiveRecords> records = std::make_shared<LiveRecords>();
  std::map<std::pair<std::string, int>, Encoded> encoded{};  ///< by stream and width
  HttpListener listener;
  std::unique_ptr<HttpServer> server{};
};

LiveView::Impl::Impl(const Pipeline& shown, const std::string& host_and_port,
                     const ConnectionLimits& limits)
    : pipeline(shown), listener("the live view", host_and_port) {
  if (!listener.is_loopback())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the live view has no password, so it cannot listen at " +
                              printable(host_and_port) +
                              ", which other machines can reach; give 127.0.0.1:PORT, and use a "
                              "proxy that asks for a password");
  server = std::make_unique<HttpServer>(
      listener.release(),
      make_read_handler([this](const HttpRequest& request) { return respond(request); }),
      HttpServer::Settings{.limits = limits});
}

/// Otherwise a page of another site could read the view, through a name that leads to this machine.
bool LiveView::Impl::is_own_host(const std::string& host) const {
  const std::string port = ":" + std::to_string(listener.port());
  return host == "127.0.0.1" + port || host == "localhost" + port;
}

bool LiveView::Impl::has_stream(const std::string& id) const {
  const PipelineStats stats = pipeline.stats();
  return std::ranges::any_of(stats.streams, [&](const StreamStats& one) { return one.id == id; });
}

HttpAnswer LiveView::Impl::respond(const HttpRequest& request) {
  if (!is_own_host(request.host))
    return {.status = 403,
            .text = "the live view answers only at http://127.0.0.1:" +
                    std::to_string(listener.port()) + "\n"};
  HttpAnswer answer = not_found("the live view has no such page\n");
  const std::string& path = request.path;
  for (const LivePageFile& file : live_page_files())
    if (path == file.path) answer = {.text = std::string(file.text), .type = file.type};
  if (path == "/api/v1/state")
    answer = json_answer({{"stats", pipeline.stats()}, {"plan", pipeline.plan().explain()}});
  if (path == "/api/v1/picture" || path == "/api/v1/record") answer = respond_of_stream(request);
  answer.headers = {
      {"Content-Security-Policy",
       "default-src 'self'; img-src 'self' blob:; frame-ancestors 'none'; form-action 'none'; "
       "base-uri 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cache-Control", "no-store"}};
  return answer;
}

HttpAnswer LiveView::Impl::respond_of_stream(const HttpRequest& request) {
  const std::string id = request.argument("stream");
  if (!has_stream(id)) return not_found("there is no such stream\n");
  const std::optional<FrameRecord> record = records->look(id, now());
  if (!record) return not_found("no record yet; ask again\n");
  if (request.path == "/api/v1/record") return json_answer(*record);
  return picture(*record, width_of(request));
}

HttpAnswer LiveView::Impl::picture(const FrameRecord& record, int width) {
  if (record.frame.image.empty()) return not_found("the frame has no picture; ask again\n");
  constexpr std::size_t kMostEncoded = 256;
  if (encoded.size() > kMostEncoded) encoded.clear();
  Encoded& known = encoded[{record.stream_id, width}];
  if (known.frame != record.frame.index)
    known = {.frame = record.frame.index, .jpeg = draw_live_picture(record, width)};
  return {.text = known.jpeg, .type = "image/jpeg"};
}

LiveView::LiveView(const Pipeline& pipeline, const std::string& host_and_port,
                   const ConnectionLimits& limits) {
  limits.check();
  impl_ = std::make_unique<Impl>(pipeline, host_and_port, limits);
}

LiveView::~LiveView() = default;

std::uint16_t LiveView::port() const noexcept { return impl_->listener.port(); }

std::shared_ptr<Sink> LiveView::sink() const { return std::make_shared<LiveSink>(impl_->records); }

}  // namespace vcap
