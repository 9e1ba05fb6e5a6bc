// SPDX-License-Identifier: Apache-2.0
#include "pipeline/http_handler.hpp"

#include <atomic>
#include <exception>
#include <utility>

#include "base/text.hpp"

namespace vcap {
namespace {

class ReadHandler final : public HttpHandler {
 public:
  explicit ReadHandler(std::function<HttpAnswer(const HttpRequest&)> answer)
      : answer_(std::move(answer)) {}

  std::variant<BodyRule, HttpAnswer> admit(const HttpRequest& head) override {
    if (head.method == "GET" || head.method == "HEAD") return BodyRule{};
    HttpAnswer answer = answer_(head);
    if (answer.status == 404) return answer;
    if (answer.stream) answer.stream->closed();
    return HttpAnswer{.status = 405,
                      .text = printable(head.path) + " can only be read\n",
                      .headers = {{"Allow", "GET, HEAD"}}};
  }
  void respond(HttpRequest request, HttpReply reply) override { reply.send(answer_(request)); }

 private:
  const std::function<HttpAnswer(const HttpRequest&)> answer_;
};

}  // namespace

HttpStream::~HttpStream() = default;
HttpHandler::~HttpHandler() = default;

struct HttpReply::State {
  explicit State(std::function<void(HttpAnswer)> to) : deliver(std::move(to)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (is_sent) return;
    try {
      deliver({.status = 500, .text = "the request was dropped without an answer; try again\n"});
    } catch (...) {  // memory is short: the client gets no answer
    }
  }

  const std::function<void(HttpAnswer)> deliver;
  std::atomic<bool> is_sent{false};
};

HttpReply::HttpReply(std::function<void(HttpAnswer)> deliver)
    : state_(std::make_shared<State>(std::move(deliver))) {}

void HttpReply::send(HttpAnswer answer) const {
  if (!state_->is_sent.exchange(true)) state_->deliver(std::move(answer));
}

std::shared_ptr<HttpHandler> make_read_handler(
    std::function<HttpAnswer(const HttpRequest&)> answer) {
  return std::make_shared<ReadHandler>(std::move(answer));
}

}  // namespace vcap
