// SPDX-License-Identifier: Apache-2.0
#include "cluster/slice_store.hpp"

#include <algorithm>
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

std::optional<int> SharedPlan::replace(const json& slices) {
  const auto stored =
      jet_stream_.store(subject_, to_message(PlanMessage{number_ + 1, slices}), sequence_);
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

bool SliceStore::begin(const std::string&, const json& plan) {
  const MutexLock lock(mutex_);
  const auto number = plan_.replace(plan);
  // If another worker was faster, its plan stays.
  known_ = number ? PlanMessage{*number, plan} : plan_.read();
  return number.has_value();
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
