// SPDX-License-Identifier: Apache-2.0
#include "view/shown_pipelines.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/url.hpp"
#include "vcap/base/error.hpp"
#include "view/live_routes.hpp"

namespace vcap {
namespace {

/// How old a list of all streams may be. A client may ask as often as it likes.
constexpr std::chrono::milliseconds kListAge{500};

template <class Thing>
void append(std::vector<Thing>& to, std::vector<Thing>&& more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::set<std::string> ids_of(const Pipeline& pipeline) {
  std::set<std::string> ids;
  for (const StreamReport& report : pipeline.reports()) ids.insert(report.id);
  return ids;
}

/// What it leads to must be a page, not a script of the page that shows the link.
bool is_page(const std::string& url) {
  return url.starts_with("http://") || url.starts_with("https://");
}

}  // namespace

ShownPipelines::ShownPipelines(ViewedStreams viewed) : viewed_(std::move(viewed)) {
  if (!viewed_.pipelines)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the live view gets no function for the pipelines that it shows");
}

void ShownPipelines::check_can_change() const {
  if (!can_change()) throw LiveRefusal(403, viewed_.refusal, "only_shown");
}

Pipeline& ShownPipelines::changeable() const {
  check_can_change();
  return *changeable_;
}

std::vector<std::shared_ptr<const Pipeline>> ShownPipelines::pipelines() const {
  if (!changeable_) return viewed_.pipelines();
  return {std::shared_ptr<const Pipeline>(std::shared_ptr<void>(), changeable_)};  // not owned
}

std::set<std::string> ShownPipelines::streams() const {
  std::set<std::string> ids;
  for (const auto& pipeline : pipelines()) ids.merge(ids_of(*pipeline));
  return ids;
}

PipelineStats ShownPipelines::stats() const {
  if (changeable_) return changeable_->stats();
  PipelineStats sum;
  sum.uptime = std::chrono::steady_clock::now() - begun_;
  for (const auto& pipeline : pipelines()) {
    PipelineStats one = pipeline->stats();
    sum.workers += one.workers;
    sum.in_flight += one.in_flight;
    append(sum.streams, std::move(one.streams));
    append(sum.capsules, std::move(one.capsules));
    append(sum.devices, std::move(one.devices));
  }
  std::ranges::sort(sum.streams, {}, &StreamStats::id);
  return sum;
}

nlohmann::json ShownPipelines::plans() const {
  nlohmann::json plans = nlohmann::json::array();
  for (const auto& pipeline : pipelines()) {
    const Plan plan = pipeline->plan();
    plans.push_back({{"streams", ids_of(*pipeline)}, {"plan", plan}, {"text", plan.explain()}});
  }
  return plans;
}

std::vector<CapsuleInfo> ShownPipelines::capsules() const {
  std::vector<CapsuleInfo> infos;
  for (const auto& pipeline : pipelines()) append(infos, pipeline->capsules());
  return infos;
}

StreamSettings ShownPipelines::stream_settings(const std::string& stream) const {
  for (const auto& pipeline : pipelines())
    if (changeable_ || ids_of(*pipeline).contains(stream)) return pipeline->stream_settings(stream);
  throw SourceError(ErrorCode::unknown_stream, "there is no stream " + quote(stream));
}

/// True for one thread at a time; the others take the list before.
bool ShownPipelines::is_list_due() const {
  const auto now = std::chrono::steady_clock::now();
  const MutexLock lock(mutex_);
  if (now < due_) return false;
  due_ = now + kListAge;
  return true;
}

std::vector<ViewedStreams::Listed> ShownPipelines::elsewhere() const {
  if (!viewed_.all) return {};
  if (is_list_due()) {
    std::vector<ViewedStreams::Listed> all = viewed_.all();
    for (ViewedStreams::Listed& one : all) {
      if (!is_page(one.view)) one.view.clear();
      one.reason = without_passwords(one.reason);
    }
    const MutexLock lock(mutex_);
    all_ = std::move(all);
  }
  const std::set<std::string> here = streams();
  std::vector<ViewedStreams::Listed> result;
  const MutexLock lock(mutex_);
  std::ranges::copy_if(all_, std::back_inserter(result),
                       [&here](const auto& one) { return !here.contains(one.id); });
  return result;
}

}  // namespace vcap
