// SPDX-License-Identifier: Apache-2.0
#include "cluster/slice_store.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "jobs/job_outputs.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A result has at most 64 KiB.
constexpr std::size_t kMostText = 48 << 10;
/// Of an index: days of video whose times have no order, at 2 bytes a frame.
constexpr std::size_t kMostIndex = 16 << 20;

/// The records of a small slice, which then need no object. `nullopt` for other files.
std::optional<std::string> small_text(const fs::path& file) {
  if (file.filename() != kSliceRecords) return std::nullopt;
  const auto content = open_object_file(file);
  const std::string_view text(reinterpret_cast<const char*>(content->bytes().data()),
                              content->bytes().size());
  if (text.size() > kMostText || json(text).dump().size() > kMostText) return std::nullopt;
  return std::string(text);
}

}  // namespace

SharedPlan::SharedPlan(JetStream& jet_stream, const Site& site, const std::string& job,
                       const std::string& video)
    : jet_stream_(jet_stream),
      stream_(site.stream(Site::Kind::plan)),
      subject_(site.subject(Site::Kind::plan, {job, video})) {}

std::optional<PlanMessage> SharedPlan::read() {
  const auto message = jet_stream_.last(stream_, subject_);
  if (!message) {
    sequence_ = 0;
    number_ = 0;
    return std::nullopt;
  }
  sequence_ = message->sequence;
  try {
    PlanMessage plan = read_plan(message->body);
    number_ = plan.number;
    return plan;
  } catch (const ClusterError& error) {
    // It is replaced as if there were none.
    log(LogLevel::warning, "cluster: the plan on " + quote(subject_) + ": " + error.what());
    return std::nullopt;
  }
}

std::optional<int> SharedPlan::replace(PlanMessage plan) {
  plan.number = number_ + 1;
  const auto stored = jet_stream_.store(subject_, to_message(plan), sequence_);
  if (!stored) return std::nullopt;
  sequence_ = *stored;
  return ++number_;
}

/// Files of a slice that are being written.
class SliceStore::StagedSlice final : public JobStore::Staged {
 public:
  StagedSlice(SliceStore& store, SliceResult result)
      : store_(store), result_(std::move(result)), path_(store.work_ / Uuid::random().to_string()) {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error)
      throw OutputError(ErrorCode::output_write,
                        quote(path_.native()) + " cannot be created: " + error.message());
  }
  ~StagedSlice() override {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const noexcept override { return path_; }
  bool commit(const json& result) override {
    result_.counts = result;
    for (const auto& entry : fs::directory_iterator(path_)) {
      SliceResult::File file{.name = entry.path().filename(), .text = small_text(entry.path())};
      // Each attempt has names of its own: a late worker replaces nothing.
      if (!file.text)
        file.object = store_.objects_.put(
            "job/" + store_.job_ + '/' + path_.filename().native() + '/' + file.name, entry.path());
      result_.files.push_back(std::move(file));
    }
    std::ranges::sort(result_.files, {}, &SliceResult::File::name);
    store_.add(std::move(result_));
    return true;
  }

 private:
  SliceStore& store_;
  SliceResult result_;
  const fs::path path_;
};

SliceStore::SliceStore(SharedPlan plan, SliceTask task, std::string job, TaskQueue& queue,
                       ObjectStore& objects, fs::path work)
    : task_(std::move(task)),
      job_(std::move(job)),
      queue_(queue),
      objects_(objects),
      work_(std::move(work)),
      plan_(std::move(plan)) {}

/// Only the process that collects the results knows.
std::optional<json> SliceStore::finished(const std::string&) const { return std::nullopt; }

std::optional<PlanMessage> SliceStore::present_plan() const {
  const MutexLock lock(mutex_);
  return known_ = plan_.read();
}

std::optional<PlanMessage> SliceStore::known_plan() const {
  const MutexLock lock(mutex_);
  return known_;
}

std::optional<json> SliceStore::plan(const std::string&) const {
  auto plan = present_plan();
  if (!plan) return std::nullopt;
  return std::move(plan->slices);
}

std::optional<json> SliceStore::result(const std::string&, std::size_t slice) const {
  SliceTask task = task_;
  task.slice = slice;
  {
    const MutexLock lock(mutex_);
    task.plan = plan_number();
    for (const SliceResult& result : results_)
      if (result.plan == task.plan && result.slice == slice) return result.counts;
  }
  // The queue leases no slice that has a result. Only a later plan is not known from there.
  if (task.plan <= task_.plan) return std::nullopt;
  const auto stored = queue_.result(task.id());
  if (!stored) return std::nullopt;
  return read_slice_result(*stored).counts;
}

bool SliceStore::begin(const std::string&, const json& slices, std::string_view index) {
  PlanMessage plan{.slices = slices};
  if (!index.empty() && index.size() <= kMostIndex)
    plan.index = objects_.put_bytes("job/" + job_ + '/' + Uuid::random().to_string() + "/index",
                                    std::as_bytes(std::span(index)));
  {
    const MutexLock lock(mutex_);
    if (const auto number = plan_.replace(plan)) {
      plan.number = *number;
      known_ = std::move(plan);
      return true;
    }
    known_ = plan_.read();  // another worker was faster; its plan stays
  }
  if (plan.index) objects_.erase(plan.index->name);
  return false;
}

std::optional<std::string> SliceStore::index(const std::string&) const {
  auto plan = known_plan();
  if (!plan) plan = present_plan();
  if (!plan || !plan->index) return std::nullopt;
  if (plan->index->size > kMostIndex)
    throw ClusterError(ErrorCode::invalid_message,
                       "the index has " + std::to_string(plan->index->size) + " bytes, more than " +
                           std::to_string(kMostIndex));
  return objects_.get_text(*plan->index);
}

/// The next begin() replaces the plan.
void SliceStore::forget(const std::string&) {}

std::unique_ptr<JobStore::Staged> SliceStore::stage(const std::string& video, std::size_t slice) {
  const MutexLock lock(mutex_);
  return std::make_unique<StagedSlice>(
      *this, SliceResult{.video = video, .plan = plan_number(), .slice = slice});
}

void SliceStore::add(SliceResult result) {
  const MutexLock lock(mutex_);
  results_.push_back(std::move(result));
}

std::vector<SliceResult> SliceStore::take_results() {
  const MutexLock lock(mutex_);
  return std::exchange(results_, {});
}

}  // namespace vcap
