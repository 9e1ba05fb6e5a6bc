// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/object_store.hpp"
#include "cluster/record_batch.hpp"
#include "cluster/stream_message.hpp"
#include "vcap/streams/stream_config.hpp"

namespace vcap {

/// What a stream of a site does while this process owns it: it makes records. Simulations and tests
/// have others than the frames of a camera. Used by one thread, but end() is thread-safe. Thread
/// safety: thread-compatible.
class StreamBody {
 public:
  /// Whom it gives its records.
  class Host {
   public:
    Host() = default;
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    virtual ~Host();

    virtual void add(std::string_view record, std::int64_t frame_index,
                     std::chrono::nanoseconds pts) = 0;
    /// Called after each record: may save the states.
    virtual void pause(std::int64_t frame_index) = 0;
    /// Called after the last record: save() gives the states after it.
    virtual void finish() = 0;
  };

  StreamBody() = default;
  StreamBody(const StreamBody&) = delete;
  StreamBody& operator=(const StreamBody&) = delete;
  virtual ~StreamBody();

  /// Whether states of each stateful capsule would continue from what was saved, by the capsules'
  /// names.
  virtual std::map<std::string, bool> states() const = 0;
  /// Gives records until end() is called or there are no more. Throws what makes the stream fail.
  virtual void run(const EpochBegin& begin, std::map<std::string, SavedState> saved,
                   Host& host) = 0;
  /// run() returns soon, after the records of the frames in progress. [any thread]
  virtual void end() noexcept = 0;
  /// What the states of the capsules save now; `nullopt` if one of them is in use.
  virtual std::optional<std::map<std::string, SavedState>> save() const = 0;
  /// What an operator should know; empty: nothing. [any thread]
  virtual std::string trouble() const { return {}; }
  /// How many cores it takes; `nullopt` as long as that is not known.
  virtual std::optional<double> load() const = 0;
};

/// Makes the body of a stream. Throws what makes the stream fail.
using MakeBody =
    std::function<std::unique_ptr<StreamBody>(const std::string& id, const StreamMessage& message)>;

}  // namespace vcap
