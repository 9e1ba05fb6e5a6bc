// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_video.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "jobs/job_outputs.hpp"
#include "sources/stored_source.hpp"
#include "streams/slice_plan.hpp"
#include "streams/slicing.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/image/make_annotators.hpp"

namespace vcap {
namespace {

/// In a plan, in place of a slice's rows: the video is run in one go.
constexpr const char* kAll = "all";
/// The most frames of an automatic slice. An interrupted slice has to be run again.
constexpr std::size_t kLongest = 4096;

[[noreturn]] void refuse_index(const Job::Video& video) {
  throw SourceError(ErrorCode::source_not_as_indexed,
                    "video " + quote(video.id) + " does not match its index");
}

/// Ends the attempt if a capsule exceeded its deadline: in another run, the record would be
/// another.
void refuse_late(const FrameRecord& record) {
  for (const FrameRecord::CapsuleError& error : record.errors)
    if (error.code == to_string(ErrorCode::deadline_exceeded))
      throw Error(ErrorCode::deadline_exceeded, "frame " + std::to_string(record.frame.index) +
                                                    ": capsule " + error.capsule + ": " +
                                                    error.message);
}

/// The same for frames of the warm-up, which have no records: the state is then another.
void refuse_late(const StreamReport& report) {
  if (report.overdue > 0)
    throw Error(ErrorCode::deadline_exceeded, "a capsule exceeded its deadline over " +
                                                  counted(report.overdue, "frame") +
                                                  " of the warm-up; the log says which");
}

/// Null: the usual one.
std::unique_ptr<Annotator> annotator_of(const Job::Outputs& outputs) {
  return outputs.draw.empty() ? nullptr : make_annotators(outputs.draw);
}

/// A source whose frames have been found already, so that not every slice looks through the file.
class FoundFrames final : public Source {
 public:
  FoundFrames(const Job::Video& video, SourceInfo info, std::shared_ptr<const RandomAccess> access)
      : video_(video), info_(std::move(info)), access_(std::move(access)) {}

  SourceInfo info() const override { return info_; }
  std::shared_ptr<const RandomAccess> random_access() override { return access_; }
  /// Called only if a slice goes on in order because of damage, which shifts the rows of the other
  /// slices.
  std::optional<Frame> read() override { refuse_index(video_); }

 private:
  const Job::Video& video_;
  const SourceInfo info_;
  const std::shared_ptr<const RandomAccess> access_;
};

}  // namespace

JobVideo::JobVideo(const Job::Video& video, const JobSetting& setting)
    : video_(video), setting_(setting) {}

std::vector<std::size_t> JobVideo::missing() {
  if (setting_.store.finished(video_.id)) return {};
  const std::shared_ptr<Cut> now = cut();
  std::vector<std::size_t> slices;
  for (std::size_t slice = 0; slice < now->parts.size(); ++slice)
    if (!is_stored(*now, slice)) slices.push_back(slice);
  return slices;
}

std::shared_ptr<JobVideo::Cut> JobVideo::cut() {
  News news;
  std::shared_ptr<Cut> now = cut(news);
  news.tell();
  return now;
}

void JobVideo::News::tell() const {
  if (!text.empty()) log(level, text);
}

std::shared_ptr<JobVideo::Cut> JobVideo::cut(News& news) {
  const MutexLock lock(mutex_);
  if (cut_) return cut_;
  auto known = setting_.store.plan(video_.id);
  if (!known) {
    known = plan(news);
    const std::string index = known->size() > 1 ? save_index(*access_) : std::string();
    if (!setting_.store.begin(video_.id, *known, index)) known = setting_.store.plan(video_.id);
  }
  read_cut(known.value());
  return cut_;
}

/// Sets `news` if there is something to log.
nlohmann::json JobVideo::plan(News& news) {
  nlohmann::json in_one = nlohmann::json::array({kAll});
  const Job& job = setting_.job;
  const auto compiled_plan = setting_.capsule_set.compile_for(video_.capsules);
  const SliceNeeds needs(*compiled_plan);
  if (job.slices == 1 || job.outputs.video || needs.unbounded()) return in_one;
  const auto count = [&](std::int64_t frames) {
    std::string why;
    return job.slices > 1 ? static_cast<std::size_t>(job.slices)
                          : best_parts(needs, frames, setting_.parts_wanted, kLongest, why);
  };
  const auto source = open_whole();
  const std::optional<std::int64_t> about = source->info().frames;
  if (about && count(frames_wanted(*about)) == 1) return in_one;
  news = find_frames(*source);
  if (!access_) {
    if (job.slices > 1)
      news = {.text = "video " + quote(video_.id) +
                      " is run without slices: the positions of its frames are not known without "
                      "decoding all of them"};
    return in_one;
  }
  nlohmann::json slices = nlohmann::json::array();
  const std::int64_t frames = frames_wanted(access_->frames());
  const auto seek_point = [&access = *access_](std::int64_t row) { return access.seek_point(row); };
  for (const Rows& rows : vcap::cut(Rows({0, frames}), count(frames), seek_point, needs.lead()))
    slices.push_back({rows.hull().begin, rows.hull().end});
  return slices.size() == 1 ? in_one : slices;
}

void JobVideo::read_cut(const nlohmann::json& plan) {
  auto cut = std::make_shared<Cut>();
  for (const nlohmann::json& slice : plan) {
    const bool is_all = slice == kAll;
    cut->parts.push_back(is_all ? Part() : Part({slice.at(0), slice.at(1)}));
    cut->stored.push_back(setting_.store.result(video_.id, cut->stored.size()).has_value());
  }
  cut_ = std::move(cut);
}

bool JobVideo::is_stored(const Cut& cut, std::size_t slice) {
  const MutexLock lock(mutex_);
  return cut.stored[slice];
}

bool JobVideo::run(std::size_t slice, Pipeline& pipeline, const std::stop_token& stop) {
  if (setting_.store.finished(video_.id)) return true;
  const bool may_have_stored_index = trusts_stored_index();
  try {
    return run_part(slice, pipeline, stop);
  } catch (const SourceError& error) {
    if (error.code() != ErrorCode::source_not_as_indexed) throw;
    if (!may_have_stored_index) {
      go_on_in_one(error.what());
      slice = 0;
    } else {
      log(LogLevel::debug,
          "video " + quote(video_.id) + ": its stored index is not used any more: " + error.what());
      distrust_stored_index();
    }
  }
  return may_have_stored_index ? run(slice, pipeline, stop) : run_part(slice, pipeline, stop);
}

bool JobVideo::trusts_stored_index() {
  const MutexLock lock(mutex_);
  return trusts_index_;
}

/// The next reader scans the file.
void JobVideo::distrust_stored_index() {
  const MutexLock lock(mutex_);
  if (std::exchange(trusts_index_, false)) access_ = nullptr;
}

/// Which frames are damaged is only known after decoding everything before them.
void JobVideo::go_on_in_one(const std::string& why) {
  if (plan_in_one())
    log(LogLevel::warning,
        "video " + quote(video_.id) + " is damaged, and run again without slices: " + why);
}

/// False if the video is run in one go already.
bool JobVideo::plan_in_one() {
  const MutexLock lock(mutex_);
  if (cut_->parts.size() == 1) return false;
  const nlohmann::json in_one = nlohmann::json::array({kAll});
  setting_.store.forget(video_.id);
  read_cut(setting_.store.begin(video_.id, in_one) ? in_one
                                                   : setting_.store.plan(video_.id).value());
  return true;
}

bool JobVideo::run_part(std::size_t slice, Pipeline& pipeline, const std::stop_token& stop) {
  const std::shared_ptr<Cut> now = cut();
  // A new plan has one slice. It stands for all tasks of the plan before.
  slice = std::min(slice, now->parts.size() - 1);
  std::optional<MutexLock> in_one;
  if (now->parts.size() == 1) in_one.emplace(in_one_);
  if (is_stored(*now, slice)) return true;
  const std::unique_ptr<JobStore::Staged> staged = setting_.store.stage(video_.id, slice);
  const RecordCounts counts =
      run_stream(stream_of(now->parts[slice]), staged->path(), pipeline, stop);
  if (stop.stop_requested()) return false;
  const MutexLock lock(mutex_);
  if (now != cut_) return true;  // it belongs to the plan before
  staged->commit(counts);
  now->stored[slice] = true;
  return true;
}

JobVideo::News JobVideo::find_frames(Source& source) {
  trusts_index_ = false;
  info_ = source.info();
  access_ = source.random_access();
  return {LogLevel::debug, "video " + quote(video_.id) + ": scanned for the index of its frames"};
}

/// By the index that whoever made the plan has stored; without one that fits, by a scan.
JobVideo::News JobVideo::find_frames_again() {
  const auto source = open_whole();
  if (!trusts_index_) return find_frames(*source);
  const std::string named = "video " + quote(video_.id) + ":";
  std::string why = "there is none";
  try {
    if (const auto index = setting_.store.index(video_.id)) {
      why = "it is not one of this file";
      if (restore_index(*source, *index)) {
        info_ = source->info();
        access_ = source->random_access();
      }
    }
  } catch (const Error& error) {
    why = error.what();
  }
  const Part& last = cut_->parts.back();  // the plan may just have become one without slices
  if (access_ && (!last || frames_wanted(access_->frames()) == last->end))
    return {LogLevel::debug, named + " its frames are found by the index stored with its plan"};
  if (std::exchange(access_, nullptr)) why = "it is not of the plan's frames";
  find_frames(*open_whole());
  return {LogLevel::info, named +
                              " scanned, since the index that should be stored with its plan "
                              "cannot be used: " +
                              why};
}

/// Of `frames` frames.
std::int64_t JobVideo::frames_wanted(std::int64_t frames) const {
  return std::min(frames, setting_.job.max_frames.value_or(frames));
}

std::unique_ptr<Source> JobVideo::open_whole() const {
  return open_source(video_.source, {.decoder_threads = setting_.decoder_threads,
                                     .max_pixels = setting_.job.max_pixels});
}

std::unique_ptr<Source> JobVideo::source_of(const Part& part) {
  if (!part) return open_whole();
  News news;
  std::unique_ptr<Source> source = source_of(*part, news);
  news.tell();
  if (!source) refuse_index(video_);
  return source;
}

/// Null if the video does not have the rows.
std::unique_ptr<Source> JobVideo::source_of(const RowRange& rows, News& news) {
  const MutexLock lock(mutex_);
  if (!access_) news = find_frames_again();
  if (!access_ || access_->frames() < rows.end) return nullptr;
  return std::make_unique<FoundFrames>(video_, info_, access_);
}

StreamConfig JobVideo::stream_of(const Part& part) {
  StreamConfig config{.id = video_.id,
                      .source = source_of(part),
                      .capsules = video_.capsules,
                      .config = video_.config,
                      .max_frames = setting_.job.max_frames,
                      .capsule_deadline = setting_.capsule_deadline,
                      .first_call_deadline = setting_.first_call_deadline};
  if (part) config.select = Sampler::ranges({*part});
  for (const std::shared_ptr<CapsuleSlot>& slot : setting_.capsule_set.slots)
    if (const auto given = video_.options.find(slot->name()); given != video_.options.end())
      config.options.emplace(slot->name(), slot->capsule->default_options())
          .first->second.merge(given->second);
  return config;
}

RecordCounts JobVideo::run_stream(StreamConfig config, const std::filesystem::path& folder,
                                  Pipeline& pipeline, const std::stop_token& stop) {
  RecordCounts counts;
  const Job::Outputs& outputs = setting_.job.outputs;
  std::vector<std::shared_ptr<Sink>>& sinks = config.sinks;
  if (outputs.jsonl) sinks.push_back(make_json_lines_sink(folder / kSliceRecords));
  if (outputs.video) {
    const double rate = config.source->info().frames_per_second;
    sinks.push_back(
        outputs.picture.empty()
            ? make_annotated_video_sink(folder / kSliceClip, rate, {}, annotator_of(outputs))
            : make_picture_video_sink(folder / kSliceClip, outputs.picture, rate));
  }
  sinks.push_back(make_callback_sink(
      [&](const FrameRecord& record) {
        if (setting_.capsule_deadline.count() > 0) refuse_late(record);
        counts.add(record);
        if (setting_.on_record) setting_.on_record(record);
      },
      false));
  const std::vector<std::shared_ptr<Sink>> all = sinks;
  pipeline.open_stream(std::move(config));
  const std::stop_callback stopping(stop, [&pipeline] { pipeline.stop(); });
  const StreamReport report = pipeline.wait(video_.id);
  if (report.failure_cause) std::rethrow_exception(report.failure_cause);
  counts.broken_pictures = report.broken_pictures;
  if (stop.stop_requested()) return counts;
  refuse_late(report);
  for (const std::shared_ptr<Sink>& sink : all) sink->close();
  return counts;
}

std::optional<RecordCounts> JobVideo::finish(JobFolder& folder) {
  const MutexLock lock(finishing_);
  if (!missing().empty() || folder.finished(video_.id)) return std::nullopt;
  return finish_outputs(folder, setting_.job.outputs, video_.id);
}

}  // namespace vcap
