// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "base/thread_annotations.hpp"
#include "files/file_descriptor.hpp"
#include "pipeline/http_message.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// What other threads hand to the thread of a server. Replies share it, so it may outlive the
/// server. Thread safety: thread-safe.
class HttpInbox {
 public:
  struct News {
    bool stop = false;
    bool wake = false;                              ///< streams are to be asked again
    std::map<std::uint64_t, HttpAnswer> answers{};  ///< by the number of the request
  };

  /// Throws std::system_error if the system has no descriptor.
  HttpInbox();

  /// Readable if there is news.
  int descriptor() const noexcept { return event_.get(); }

  void put(std::uint64_t request, HttpAnswer answer) VCAP_EXCLUDES(mutex_);
  void wake() noexcept;
  void stop() noexcept;
  /// Answers that come later are dropped.
  void close() VCAP_EXCLUDES(mutex_);

  News take() VCAP_EXCLUDES(mutex_);
  std::optional<HttpAnswer> take(std::uint64_t request) VCAP_EXCLUDES(mutex_);

 private:
  void notify() noexcept;

  const FileDescriptor event_;
  std::atomic<bool> wake_{false};
  std::atomic<bool> stop_{false};
  Mutex mutex_;
  bool is_closed_ VCAP_GUARDED_BY(mutex_) = false;
  std::map<std::uint64_t, HttpAnswer> answers_ VCAP_GUARDED_BY(mutex_){};
};

}  // namespace vcap
