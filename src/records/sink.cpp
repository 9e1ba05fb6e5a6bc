// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/sink.hpp"

#include <utility>

#include "base/thread_annotations.hpp"
#include "files/output_file.hpp"
#include "records/record_line.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

class JsonLinesSink final : public Sink {
 public:
  explicit JsonLinesSink(const std::filesystem::path& path)
      : file_(path, OutputFile::Target::any, OutputFile::Unfinished::kept) {}

  void write(const FrameRecord& record) override {
    const std::string line = record_line(record);  // outside the lock, since streams share the sink
    const MutexLock lock(mutex_);
    if (closed_)
      throw OutputError(ErrorCode::output_write, "output " + file_.path().string() +
                                                     " is closed already; close a sink after the "
                                                     "last stream that writes to it");
    // One call for each record: a reader of a pipe gets whole lines as they come, and a full disk
    // is noticed at the record that did not fit. Making a line takes longer than writing it.
    try {
      file_.write(file_.is_torn() ? "\n" + line : line);
    } catch (...) {
      broken_ = !losses_allowed_;
      throw;
    }
  }

  bool needs_pixels() const override { return false; }

  void allow_losses() override {
    const MutexLock lock(mutex_);
    losses_allowed_ = true;
  }

  void close() override {
    const MutexLock lock(mutex_);
    if (std::exchange(closed_, true)) return;
    if (broken_) {
      const std::string remains = file_.remains();
      throw OutputError(ErrorCode::output_write,
                        "output " + file_.path().string() +
                            " is incomplete, because writing failed" +
                            (remains.empty() ? "" : "; " + remains + ", in whole lines"));
    }
    file_.commit();
  }

 private:
  Mutex mutex_;
  OutputFile file_ VCAP_GUARDED_BY(mutex_);
  bool closed_ VCAP_GUARDED_BY(mutex_) = false;
  bool broken_ VCAP_GUARDED_BY(mutex_) = false;
  bool losses_allowed_ VCAP_GUARDED_BY(mutex_) = false;
};

class CallbackSink final : public Sink {
 public:
  CallbackSink(std::function<void(const FrameRecord&)> callback, bool needs_pixels)
      : callback_(std::move(callback)), needs_pixels_(needs_pixels) {}
  void write(const FrameRecord& record) override { callback_(record); }
  bool needs_pixels() const override { return needs_pixels_; }

 private:
  const std::function<void(const FrameRecord&)> callback_;
  const bool needs_pixels_;
};

}  // namespace

Sink::~Sink() = default;
bool Sink::needs_pixels() const { return true; }
std::vector<std::string> Sink::pictures() const { return {}; }
void Sink::close() {}
void Sink::allow_losses() {}
std::optional<SinkStats> Sink::stats() const { return std::nullopt; }
bool Sink::needs_steps() const { return false; }

std::unique_ptr<Sink> make_json_lines_sink(const std::string& path) {
  return std::make_unique<JsonLinesSink>(path);
}

std::unique_ptr<Sink> make_callback_sink(std::function<void(const FrameRecord&)> callback,
                                         bool needs_pixels) {
  if (!callback)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "a callback sink was given an empty function; give a callable one");
  return std::make_unique<CallbackSink>(std::move(callback), needs_pixels);
}

}  // namespace vcap
