// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/thread_annotations.hpp"
#include "records/held_fields.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {

/// What the sinks of other formats have in common: the lock, the end, and what was lost. Thread
/// safety: thread-safe; the private functions are called with the lock held.
class ExportSink : public Sink {
 public:
  ExportSink(std::string path, const HeldFields& held) : path_(std::move(path)), held_(held) {}

  void write(const FrameRecord& record) final;
  void close() final;
  void allow_losses() final;
  bool needs_pixels() const override { return false; }

 protected:
  const std::string& path() const noexcept { return path_; }
  Losses& losses() noexcept { return losses_; }
  [[noreturn]] void fail(const std::string& why) const;

 private:
  /// Writes the record completely, or throws and has written nothing of it.
  virtual void add(const FrameRecord& record) = 0;
  /// Gives the output its name.
  virtual void complete() = 0;
  /// What is left of an output that is broken, for a message; empty if nothing.
  virtual std::string remains() const { return {}; }

  const std::string path_;
  const HeldFields held_;
  Mutex mutex_;
  Losses losses_;
  bool closed_ VCAP_GUARDED_BY(mutex_) = false;
  bool broken_ VCAP_GUARDED_BY(mutex_) = false;
  bool losses_allowed_ VCAP_GUARDED_BY(mutex_) = false;
};

}  // namespace vcap
