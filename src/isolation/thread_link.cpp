// SPDX-License-Identifier: Apache-2.0
#include "isolation/thread_link.hpp"

#include <cassert>
#include <future>
#include <string>
#include <utility>

#include "isolation/call_threads.hpp"
#include "isolation/capsule_server.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

class ThreadLink final : public CapsuleLink {
 public:
  ThreadLink(CapsuleCode code, TakeNotice notify)
      : subject_("capsule " + code.info.name), server_(std::move(code), std::move(notify)) {}

  void give_files(const CapsuleFiles& files) override { server_.give_files(files); }

  WireMessage call(WireMessage request) override {
    std::future<WireMessage> answer = begin(std::move(request));
    return get(answer);
  }
  std::optional<WireMessage> ask(WireMessage request, std::chrono::milliseconds patience) override {
    std::future<WireMessage> answer = begin(std::move(request));
    if (answer.wait_for(patience) != std::future_status::ready) return {};
    return get(answer);
  }

 private:
  std::future<WireMessage> begin(WireMessage message) {
    return threads_.begin([this, held = std::move(message)]() mutable {
      const WireMessage request = std::move(held);  // goes before the caller has its answer
      return server_.answer(request);
    });
  }
  WireMessage get(std::future<WireMessage>& answer) const {
    try {
      return answer.get();
    } catch (const std::future_error&) {
      throw Error(ErrorCode::misbehaving_capsule,
                  subject_ + " has ended the thread of a call; its code must return, or throw");
    }
  }

  const std::string subject_;
  CapsuleServer server_;
  CallThreads threads_{};  // after the server: they end before it
};

}  // namespace

MakeLink thread_link(CapsuleCode code) {
  // A std::function must be copyable.
  auto held = std::make_shared<CapsuleCode>(std::move(code));
  return [held](TakeNotice notify) {
    assert(held->author && "a MakeLink is called once");
    return std::make_unique<ThreadLink>(std::move(*held), std::move(notify));
  };
}

}  // namespace vcap
