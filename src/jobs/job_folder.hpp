// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "files/file_descriptor.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// The folder of a job's outputs, and in it, hidden, what has been done of the job, so that it can
/// be resumed wherever the process was killed:
///
///     gate.jsonl                 outputs, each there when it is whole
///     .vcap-job/lock             held while a process works here; a killed one leaves it free
///     .vcap-job/stamp.json       what the outputs are of (job_stamp)
///     .vcap-job/work/            all that is being written; emptied when the folder is opened
///     .vcap-job/videos/ID/       a video that is begun, with its plan.json
///     .vcap-job/videos/ID/N/     the stored result of its slice N: files, with a result.json
///     .vcap-job/finished/ID.json a video that is finished, with a note and its outputs' sizes
///
/// Whatever gets one of these names does so by a single rename out of work/, so it is whole or not
/// there. A killed process loses nothing that it has written; against a power cut, files reach the
/// disk before their rename, and an output and the note that it is finished do so before what they
/// were made of is removed. That a result is stored is not waited for: at worst it is made again.
///
/// A video goes through begin, stage and commit for each slice, join for each output, finish. Where
/// that breaks off before finish, outputs may be there already; they are joined again, of the same
/// bytes. One that is finished stays so, as long as its outputs and its file do. Functions throw
/// OutputError. Thread safety: thread-safe,
/// where one thread at a time begins, joins or finishes the same video.
class VCAP_EXPORT JobFolder {
 public:
  /// Where the result of one slice is written, which is removed where it is not committed.
  /// Thread-compatible.
  class VCAP_EXPORT StagedResult {
   public:
    StagedResult(const StagedResult&) = delete;
    StagedResult& operator=(const StagedResult&) = delete;
    ~StagedResult();

    /// A folder for its files, empty at first.
    const std::filesystem::path& path() const noexcept { return path_; }
    /// Stores the files, which are closed, and the result. False where the slice has a result
    /// already, or its video is finished: then that stays, and this one goes.
    bool commit(const nlohmann::json& result);

   private:
    friend class JobFolder;
    StagedResult(std::filesystem::path path, std::filesystem::path target);

    const std::filesystem::path path_;
    const std::filesystem::path target_;
  };

  /// Names of the outputs that are to be, by video.
  using Claims = std::map<std::string, std::vector<std::string>>;

  /// Opens or begins the folder, and makes it where it is not there. Videos may have joined the job
  /// since, or left it; what is stored of one whose part of the stamp is another, or of whose
  /// outputs one is gone or of another size, is dropped, with a warning in the log. Throws
  /// InvalidArgument where another part of the stamp differs, and then has changed nothing, and
  /// where an output is there that was not made by this job, and then has not begun; OutputError
  /// (output_open) where another process has it open, or it cannot be written.
  JobFolder(std::filesystem::path outputs, const nlohmann::json& stamp, const Claims& claims = {});
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;

  /// The note of a video that is finished.
  std::optional<nlohmann::json> finished(const std::string& video) const;
  /// The plan of a video that is begun: an array, with an element for each slice.
  std::optional<nlohmann::json> plan(const std::string& video) const;
  /// The result of a slice that is stored.
  std::optional<nlohmann::json> result(const std::string& video, std::size_t slice) const;

  /// Fixes the plan. False where the video has one already: then that stays.
  bool begin(const std::string& video, const nlohmann::json& plan);
  /// Drops the plan of a video that is not finished, and all that is stored by it.
  void forget(const std::string& video);
  /// Of a video that is begun.
  StagedResult stage(const std::string& video, std::size_t slice);
  /// Makes an output of all slices' files of that name, one behind the other.
  void join(const std::string& video, const std::string& file, const std::string& output);
  /// Makes an output of a text.
  void write(const std::string& video, const std::string& output, std::string_view text);
  /// The video's outputs are there: its slices' results are not needed any more.
  void finish(const std::string& video, const nlohmann::json& note);

 private:
  std::filesystem::path of_video(const std::string& video) const;
  std::filesystem::path of_slice(const std::string& video, std::size_t slice) const;
  std::filesystem::path note_of(const std::string& video) const;
  std::filesystem::path new_place();
  void check_claims(const Claims& claims) const;
  void check_stamp(const nlohmann::json& before, const nlohmann::json& now) const;
  nlohmann::json drop_changed(const nlohmann::json& before, nlohmann::json now);
  void drop_incomplete();
  void drop(const std::string& video, const std::string& why);
  void note_output(const std::string& video, const std::string& output);
  void clear_up() const;
  void write_whole(const std::filesystem::path& target, std::string_view text);

  const std::filesystem::path outputs_;
  const std::filesystem::path folder_;
  FileDescriptor lock_;
  std::atomic<unsigned> places_ = 0;
  std::mutex mutex_;
  std::map<std::string, nlohmann::json> made_{};  ///< sizes of outputs, by video; guarded by mutex_
};

}  // namespace vcap
