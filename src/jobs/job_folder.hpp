// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/thread_annotations.hpp"
#include "files/file_descriptor.hpp"
#include "jobs/job_store.hpp"

namespace vcap {

/// The folder of a job's outputs. A hidden folder in it holds the state of the job, so that the job
/// can be resumed after the process was killed at any point:
///
///     gate.jsonl                 an output; it exists once it is complete
///     .vcap-job/lock             held while a process works here; free again if it is killed
///     .vcap-job/stamp.json       what the outputs depend on (job_stamp)
///     .vcap-job/work/            all that is being written; emptied when the folder is opened
///     .vcap-job/videos/ID/       a video that is begun, with its plan.json, and the index of its
///                                frames if it is cut
///     .vcap-job/videos/ID/N/     the stored result of its slice N: files, and result.json
///     .vcap-job/finished/ID.json a video that is finished: a note, and the sizes of its outputs
///
/// The stamp, plans, results, notes and outputs get these names by a single rename out of work/, so
/// each of them is complete or does not exist. A killed process loses nothing that it has stored.
/// To survive a power cut, files reach the disk before their rename. An output and its note reach
/// the disk before the slices' results are removed. A result's rename is not synced: at worst, that
/// slice is run again.
///
/// A video goes through begin(), stage() and commit() for each slice, join() for each output, and
/// finish(). If this breaks off before finish(), outputs may exist already; they are made again,
/// with the same bytes. A finished video stays finished as long as its outputs and its file do not
/// change. Functions throw OutputError. Thread safety: thread-safe, if only one thread at a time
/// begins, joins or finishes the same video.
class VCAP_EXPORT JobFolder final : public JobStore {
 public:
  /// Names of the outputs to make, by video.
  using Claims = std::map<std::string, std::vector<std::string>>;

  /// Opens the folder; makes it if it does not exist. Videos may have been added to the job since,
  /// or removed. Drops what is stored for a video, with a warning in the log, if its part of the
  /// stamp has changed, or if one of its outputs is missing or has another size. Throws:
  /// - InvalidArgument if another part of the stamp differs; then nothing has changed
  /// - InvalidArgument if an output exists that this job did not make; a new job is then not begun
  /// - OutputError (output_open) if another process has the folder open, or if its files are
  ///   damaged
  /// - OutputError (output_write) if the folder cannot be read or written
  JobFolder(const std::filesystem::path& outputs, const nlohmann::json& stamp,
            const Claims& claims = {});

  std::optional<nlohmann::json> finished(const std::string& video) const override;
  std::optional<nlohmann::json> plan(const std::string& video) const override;
  std::optional<nlohmann::json> result(const std::string& video, std::size_t slice) const override;
  std::optional<std::string> index(const std::string& video) const override;
  bool begin(const std::string& video, const nlohmann::json& plan,
             std::string_view index = {}) override;
  void forget(const std::string& video) override;
  std::unique_ptr<Staged> stage(const std::string& video, std::size_t slice) override;

  /// Makes an output: joins the files of that name of all slices, in order.
  void join(const std::string& video, const std::string& file, const std::string& output);
  /// Makes an output from a text.
  void write(const std::string& video, const std::string& output, std::string_view text);
  /// Marks the video as finished, once its outputs are made. Removes the results of its slices.
  void finish(const std::string& video, const nlohmann::json& note);

 private:
  class StagedFolder;

  std::filesystem::path of_video(const std::string& video) const;
  std::filesystem::path of_slice(const std::string& video, std::size_t slice) const;
  std::filesystem::path note_of(const std::string& video) const;
  std::filesystem::path new_place();
  void check_claims(const Claims& claims) const;
  void check_stamp(const nlohmann::json& before, const nlohmann::json& now) const;
  nlohmann::json drop_changed(const nlohmann::json& before, nlohmann::json now);
  void drop_incomplete();
  void drop(const std::string& video, const std::string& why);
  void note_output(const std::string& video, const std::string& output) VCAP_EXCLUDES(mutex_);
  void clear_up() const;
  void write_whole(const std::filesystem::path& target, std::string_view text);

  const std::filesystem::path outputs_;
  const std::filesystem::path folder_;
  FileDescriptor lock_;
  std::atomic<unsigned> places_ = 0;
  Mutex mutex_;
  /// Sizes of outputs, by video.
  std::map<std::string, nlohmann::json> made_ VCAP_GUARDED_BY(mutex_){};
};

}  // namespace vcap
