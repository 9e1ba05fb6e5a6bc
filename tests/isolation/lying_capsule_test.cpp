// SPDX-License-Identifier: Apache-2.0
// Tests of a host whose other side does not send what it should.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "batching/batch_observer.hpp"
#include "isolation/capsule_call.hpp"
#include "isolation/counting_capsule.hpp"
#include "isolation/observed_call.hpp"
#include "isolation/remote_capsule.hpp"
#include "isolation/thread_link.hpp"
#include "isolation/wire_examples.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;

/// Changes the answers of another link.
class LyingLink final : public CapsuleLink {
 public:
  using Change = std::function<void(WireMessage&)>;

  LyingLink(std::unique_ptr<CapsuleLink> honest, Change change)
      : honest_(std::move(honest)), change_(std::move(change)) {}

  void give_files(const CapsuleFiles& files) override { honest_->give_files(files); }
  WireMessage call(WireMessage request) override {
    WireMessage answer = honest_->call(std::move(request));
    change_(answer);
    return answer;
  }
  std::optional<WireMessage> ask(WireMessage request, std::chrono::milliseconds patience) override {
    std::optional<WireMessage> answer = honest_->ask(std::move(request), patience);
    if (answer) change_(*answer);
    return answer;
  }

 private:
  const std::unique_ptr<CapsuleLink> honest_;
  const Change change_;
};

/// A capsule that counts frames, whose answers are changed; `notices`: gets what takes notices.
std::unique_ptr<Capsule> lying(LyingLink::Change change, TakeNotice* notices = nullptr) {
  CapsuleInfo info = counting_info();
  auto author = author_of([](auto&&...) {
    auto backend = std::make_unique<FakeBackend>();
    backend->process = count;
    return backend;
  });
  const MakeLink honest = thread_link({.info = info, .author = std::move(author)});
  CapsuleCode code = remote_capsule(std::move(info), [&](const TakeNotice& take) {
    if (notices != nullptr) *notices = take;
    return std::make_unique<LyingLink>(honest(take), change);
  });
  return std::make_unique<Capsule>(std::move(code.info), std::move(code.author),
                                   Capsule::Setup{.devices = {"CPU:0"}});
}

TEST(LyingCapsule, FailsTheCallWhoseAnswerCannotBeRead) {
  std::atomic<bool> lies = false;
  std::string answer;
  const auto capsule = lying([&](WireMessage& message) {
    if (lies) message.bytes = answer;
  });
  EXPECT_EQ(counted_by(*capsule, "a", 0), 1);
  lies = true;
  const auto process = [&] { counted_by(*capsule, "a", 1); };
  const auto refused = [](const char* text) {
    return ThrowsError<Error>(
        ErrorCode::misbehaving_capsule,
        testing::AllOf(HasSubstr("capsule detector_fake sent a message that"), HasSubstr(text)));
  };
  EXPECT_THAT(process, refused("ends too early"));
  answer = "no message at all";
  EXPECT_THAT(process, refused("version"));
  answer = message_of(false, DetectionNodes::all(), 7).bytes;
  EXPECT_THAT(process, refused("more than belongs to it"));
  answer = message_of(false, DetectionNodes::single({})).bytes;
  EXPECT_THAT(process, testing::Throws<TypeMismatch>()) << "as of an author in the process";
  lies = false;
  EXPECT_EQ(counted_by(*capsule, "a", 2), 6) << "the lies were about frames that it has counted";
}

TEST(LyingCapsule, EndsNoHostByDamagedAnswers) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int failed = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    try {
      const auto capsule = lying([&](WireMessage& message) {
        if (random() % 4 == 0)
          message.bytes[random() % message.bytes.size()] = static_cast<char>(random());
        if (random() % 50 == 0) message.bytes.resize(random() % message.bytes.size());
      });
      for (int frame = 0; frame < 3; ++frame) counted_by(*capsule, "a", frame);
      static_cast<void>(capsule->save_state("a"));
      static_cast<void>(capsule->workload());
    } catch (const std::exception&) {
      ++failed;
    } catch (...) {
      ++failed;  // an exception that a damaged answer names
    }
  }
  EXPECT_THAT(failed, testing::AllOf(testing::Gt(0), testing::Lt(kRounds)));
}

/// Counts what it is told.
class Observer final : public detail::BatchObserver {
 public:
  std::size_t begin(std::size_t) noexcept override { return begun++; }
  void end(std::size_t) noexcept override { ++ended; }

  std::atomic<std::size_t> begun = 0, ended = 0;
};

WireMessage notice(CapsuleNotice what, std::vector<std::uint64_t> numbers) {
  WireWriter writer;
  writer.choice(what, kLastCapsuleNotice);
  for (const std::uint64_t number : numbers) writer(number);
  return std::move(writer).take();
}

TEST(LyingCapsule, BeginsFewBatchesAndEndsEach) {
  TakeNotice take;
  const auto observer = std::make_shared<Observer>();
  {
    const auto capsule = lying([](WireMessage&) {}, &take);
    ObservedCall call(observer);
    {
      const detail::CallObserverScope observed(call);
      counted_by(*capsule, "a", 0);
    }
    constexpr std::uint64_t kObserver = 1;
    take(notice(CapsuleNotice::batch_ended, {5}));
    take(notice(CapsuleNotice::batch_begun, {kObserver + 1, 5, 1}));
    take({.bytes = "no notice"});
    EXPECT_EQ(observer->begun + observer->ended, 0u);
    for (int times = 0; times < 3; ++times)
      take(notice(CapsuleNotice::batch_begun, {kObserver, 5, 1}));
    EXPECT_EQ(observer->begun, 1u) << "the same batch begins once";
    for (int times = 0; times < 3; ++times) take(notice(CapsuleNotice::batch_ended, {5}));
    EXPECT_EQ(observer->ended, 1u);
    for (std::uint64_t batch = 10; batch < 100'000; ++batch)
      take(notice(CapsuleNotice::batch_begun, {kObserver, batch, 1}));
    EXPECT_LT(observer->begun, 1000u);
  }
  EXPECT_EQ(observer->ended, observer->begun);
}

}  // namespace
}  // namespace vcap::test
