// SPDX-License-Identifier: Apache-2.0
// Several streams that are opened together: all of them, or none.
#include <gmock/gmock.h>
#include <pthread.h>

#include <atomic>
#include <functional>
#include <system_error>

#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(OpenStreams, OpensNoStreamIfOneIsRefused) {
  Pipeline pipeline({make_detector("detector", "person")});
  std::atomic<int> records = 0;
  const auto open_both = [&](const std::function<void(StreamConfig&)>& change) {
    std::vector<StreamConfig> configs;
    for (const char* id : {"a", "b"})
      configs.push_back({.id = id,
                         .source = make_source(3),
                         .sinks = {make_callback_sink([&](const FrameRecord&) { ++records; })}});
    change(configs.back());
    pipeline.open_streams(std::move(configs));
  };
  EXPECT_THAT([&] { open_both([](StreamConfig& config) { config.source = nullptr; }); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("stream b")));
  EXPECT_THAT([&] { open_both([](StreamConfig& config) { config.id = "a"; }); },
              ThrowsError<SourceError>(ErrorCode::duplicate_stream, HasSubstr("stream a")));
  EXPECT_THAT([&] { open_both([](StreamConfig& config) { config.capsules = {"detektor"}; }); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("detektor")));
  EXPECT_THAT([&] { open_both([](StreamConfig& config) { config.slices = 2; }); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("stream b")));
  EXPECT_THAT(pipeline.reports(), IsEmpty());
  EXPECT_EQ(records, 0);
  open_both([](StreamConfig&) {});
  EXPECT_EQ(pipeline.wait("a").frames + pipeline.wait("b").frames, 6);
  EXPECT_EQ(records, 6);
}

/// After take(), no new thread can start, since each would need a stack of 64 TiB.
class ThreadsTaken {
 public:
  ThreadsTaken() { pthread_getattr_default_np(&before_); }
  ~ThreadsTaken() {
    give_back();
    pthread_attr_destroy(&before_);
  }
  ThreadsTaken(const ThreadsTaken&) = delete;
  ThreadsTaken& operator=(const ThreadsTaken&) = delete;

  void take() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{1} << 46);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  void give_back() { pthread_setattr_default_np(&before_); }

 private:
  pthread_attr_t before_{};
};

TEST(OpenStreams, EndsTheStreamsThatBeganIfOneCannotBegin) {
  set_log_hook([](LogLevel, std::string_view) {});  // about workers that cannot start
  Pipeline pipeline({make_detector("detector", "person")});
  const auto open_many = [&](const std::function<void(Frame&)>& before) {
    std::vector<StreamConfig> configs;
    for (int i = 0; i < 64; ++i)
      configs.push_back({.id = std::to_string(i),
                         .source = std::make_unique<MemorySource>(
                             MemorySource::Plan{.frames = i == 0 ? -1 : 1, .before = before}),
                         .pull = i == 0});
    pipeline.open_streams(std::move(configs));
  };
  ThreadsTaken threads;
  bool has_failed = false;
  // Mostly, the first stream calls take() before all others have begun.
  for (int attempt = 0; attempt < 100 && !has_failed; ++attempt) {
    try {
      open_many([&](Frame&) { threads.take(); });
      threads.give_back();
      for (const StreamReport& report : pipeline.reports()) pipeline.close_stream(report.id);
    } catch (const std::system_error&) {
      has_failed = true;
    }
  }
  threads.give_back();
  EXPECT_TRUE(has_failed);
  EXPECT_THAT(pipeline.reports(), IsEmpty());
  open_many([](Frame&) {});
  EXPECT_THAT(pipeline.reports(), SizeIs(64));
  set_log_hook({});
}

}  // namespace
}  // namespace vcap::test
