// SPDX-License-Identifier: Apache-2.0
#include "observe/capsule_trace.hpp"

#include <utility>

namespace vcap {
namespace {

std::size_t begin_slice(TraceLanes* lanes, TraceSlice slice) noexcept {
  return lanes != nullptr ? lanes->begin(std::move(slice)) : TraceLanes::kNoPlace;
}

}  // namespace

/// Traces the batches of one capsule on one device.
class CapsuleTrace::Batches final : public detail::BatchObserver {
 public:
  Batches(std::shared_ptr<TraceLog> log, std::string capsule, const std::string& device)
      : calls(log->lanes(TraceProcess::devices, device + " calls")),
        log_(std::move(log)),
        capsule_(std::move(capsule)),
        batches_(log_->lanes(TraceProcess::devices, device + " batches")) {}

  std::size_t begin(std::size_t items) noexcept override {
    try {
      return begin_slice(batches_,
                         {.name = capsule_,
                          .arguments = trace_argument("size", static_cast<std::int64_t>(items))});
    } catch (...) {
      return TraceLanes::kNoPlace;  // out of memory: this slice is missing
    }
  }
  void end(std::size_t batch) noexcept override {
    if (batches_ != nullptr) batches_->end(batch);
  }

  TraceLanes* const calls;  ///< of the device, for all capsules

 private:
  const std::shared_ptr<TraceLog> log_;  // executors keep this object alive beyond the pipeline
  const std::string capsule_;
  TraceLanes* const batches_;
};

std::unique_ptr<CapsuleTrace> CapsuleTrace::make(std::shared_ptr<TraceLog> log,
                                                 const std::string& name, int version) {
  return log ? std::make_unique<CapsuleTrace>(std::move(log), name, version) : nullptr;
}

CapsuleTrace::CapsuleTrace(std::shared_ptr<TraceLog> log, const std::string& name, int version)
    : log_(std::move(log)),
      name_(name),
      version_(version),
      calls_(log_->lanes(TraceProcess::capsules, name)) {}

std::shared_ptr<CapsuleTrace::Batches> CapsuleTrace::batches(const std::string& device) {
  const MutexLock lock(mutex_);
  std::shared_ptr<Batches>& found = batches_[device];
  if (!found) found = std::make_shared<Batches>(log_, name_, device);
  return found;
}

CapsuleTrace::Call::Call(CapsuleTrace& capsule, const std::string& stream, std::int64_t index,
                         std::uint64_t frame)
    : capsule_(capsule),
      name_("frame " + std::to_string(index)),
      frame_(frame),
      place_(begin_slice(capsule.calls_, {.name = name_,
                                          .arguments = trace_argument("stream", stream) + "," +
                                                       trace_argument("frame", index) + "," +
                                                       trace_argument("version", capsule.version_),
                                          .arrow = TraceSlice::Arrow::passes,
                                          .frame = frame})) {}

CapsuleTrace::Call::~Call() {
  if (capsule_.calls_ != nullptr) capsule_.calls_->end(place_);
}

std::shared_ptr<detail::BatchObserver> CapsuleTrace::Call::begin(
    const std::string& device) noexcept {
  try {
    const std::shared_ptr<Batches> batches = capsule_.batches(device);
    device_ = batches->calls;
    device_place_ = begin_slice(device_, {.name = capsule_.name_ + ", " + name_,
                                          .arguments = {},
                                          .arrow = TraceSlice::Arrow::passes,
                                          .frame = frame_});
    return batches;
  } catch (...) {
    return nullptr;  // out of memory: these slices are missing
  }
}

void CapsuleTrace::Call::end() noexcept {
  if (TraceLanes* const device = std::exchange(device_, nullptr)) device->end(device_place_);
}

}  // namespace vcap
