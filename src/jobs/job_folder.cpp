// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <initializer_list>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/mapped_file.hpp"
#include "files/output_file.hpp"
#include "files/strict_json.hpp"
#include "jobs/job_stamp.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJobFolder = ".vcap-job";
constexpr const char* kStampFile = "stamp.json";
constexpr const char* kResultFile = "result.json";
constexpr const char* kIndexFile = "index";

[[noreturn]] void fail_at(const fs::path& path, const std::error_code& error) {
  throw OutputError(ErrorCode::output_write,
                    "job: " + quote(path.native()) +
                        " cannot be read or written: " + error.message() +
                        "; check the disk's space and the folder's permissions, "
                        "then resume the job");
}

void check(const std::error_code& error, const fs::path& path) {
  if (error) fail_at(path, error);
}

void check(bool worked, const fs::path& path) {
  if (!worked) fail_at(path, {errno, std::generic_category()});
}

/// Returns after the file's content, or the names in the folder, have reached the disk.
void sync(const fs::path& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  check(fd && ::fsync(fd.get()) == 0, path);
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  check(error, path);
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// `nullopt` if there is no such file.
std::optional<nlohmann::json> read_json(const fs::path& path) {
  try {
    return parse_strictly(text_of(*MappedFile::open(path)));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return std::nullopt;
    fail_at(path, error.code());
  } catch (const InvalidArgument& error) {
    throw OutputError(ErrorCode::output_open, "job: " + quote(path.native()) +
                                                  " is damaged: " + error.what() +
                                                  "; to start over, remove the folder " +
                                                  kJobFolder + " and the outputs beside it");
  }
}

void write_new(const fs::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

/// Renames a folder to `target`, after its content has reached the disk. False if the rename fails
/// with an errno in `reasons`.
bool publish_folder(const fs::path& staged, const fs::path& target,
                    std::initializer_list<int> reasons) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(staged, error), end; !error && at != end;
       at.increment(error))
    sync(at->path());
  check(error, staged);
  sync(staged);
  if (::rename(staged.c_str(), target.c_str()) == 0) return true;
  check(std::find(reasons.begin(), reasons.end(), errno) != reasons.end(), target);
  return false;
}

/// Renames a file to `target`; returns after both content and name have reached the disk.
void publish_file(const fs::path& staged, const fs::path& target) {
  sync(staged);
  check(::rename(staged.c_str(), target.c_str()) == 0, target);
  sync(target.parent_path());
}

nlohmann::json without_videos(nlohmann::json stamp) {
  if (stamp.is_object()) stamp.erase("videos");
  return stamp;
}

/// So that a capsule that changes the working directory changes nothing.
fs::path from_root(const fs::path& path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error);
  check(error, path);
  return whole;
}

FileDescriptor locked(const fs::path& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  check(static_cast<bool>(fd), path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  check(errno == EWOULDBLOCK, path);
  throw OutputError(ErrorCode::output_open,
                    "job: another process uses the output folder " +
                        quote(path.parent_path().parent_path().native()) +
                        "; wait until it has ended, or give another folder");
}

}  // namespace

JobStore::Staged::~Staged() = default;
JobStore::~JobStore() = default;

class JobFolder::StagedFolder final : public JobStore::Staged {
 public:
  StagedFolder(fs::path path, fs::path target)
      : path_(std::move(path)), target_(std::move(target)) {
    make_folder(path_);
  }
  ~StagedFolder() override {
    std::error_code ignored;  // removed with the rest of work/ at the latest
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const noexcept override { return path_; }
  bool commit(const nlohmann::json& result) override {
    write_new(path_ / kResultFile, result.dump());
    // ENOENT: the video's folder is gone, since the video was finished with another result.
    return publish_folder(path_, target_, {ENOTEMPTY, EEXIST, ENOENT});
  }

 private:
  const fs::path path_;
  const fs::path target_;
};

JobFolder::JobFolder(const fs::path& outputs, const nlohmann::json& stamp, const Claims& claims)
    : outputs_(from_root(outputs)), folder_(outputs_ / kJobFolder) {
  if (!fs::exists(folder_ / kStampFile)) check_claims(claims);
  make_folder(folder_);
  lock_ = locked(folder_ / "lock");
  const auto before = read_json(folder_ / kStampFile);
  if (before) check_stamp(*before, stamp);
  clear_up();
  const nlohmann::json now = before ? drop_changed(*before, stamp) : stamp;
  // Before any result, so that no result exists without its stamp.
  if (!before || *before != now) write_whole(folder_ / kStampFile, now.dump(1));
  drop_incomplete();
  check_claims(claims);
}

void JobFolder::check_stamp(const nlohmann::json& before, const nlohmann::json& now) const {
  const std::string difference = stamp_difference(without_videos(before), without_videos(now));
  if (!difference.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "job: the outputs in " + quote(outputs_.native()) +
                              " belong to another job: " + difference +
                              "; restore the job's settings, or give another output folder, or, "
                              "to start over, remove the outputs and the folder " +
                              kJobFolder + " beside them");
}

/// Drops what is stored for videos that have changed. Returns the stamp to store; it keeps the
/// stamps of videos that have left the job, since they may come back.
nlohmann::json JobFolder::drop_changed(const nlohmann::json& before, nlohmann::json now) {
  nlohmann::json& videos = now["videos"];
  const nlohmann::json known = before.value("videos", nlohmann::json::object());
  for (const auto& [video, stamp] : known.items())
    if (!videos.contains(video))
      videos[video] = stamp;
    else if (const std::string why = stamp_difference(stamp, videos[video]); !why.empty())
      drop(video, why);
  return now;
}

void JobFolder::drop_incomplete() {
  std::vector<std::string> finished;
  std::error_code error;
  for (fs::directory_iterator at(folder_ / "finished", error), end; !error && at != end;
       at.increment(error))
    finished.push_back(at->path().stem().native());
  check(error, folder_);
  for (const std::string& video : finished) {
    const nlohmann::json note = read_json(note_of(video)).value_or(nlohmann::json());
    if (!note.is_object() || !note.contains("note") || !note.contains("outputs")) {
      drop(video, "the file that marks it as finished is damaged");
      continue;
    }
    for (const auto& [output, size] : note["outputs"].items()) {
      std::error_code absent;
      if (size == fs::file_size(outputs_ / output, absent) && !absent) continue;
      drop(video, "its output " + quote(output) + (absent ? " is gone" : " has changed"));
      break;
    }
  }
}

/// Drops everything stored for a video that was begun or finished.
void JobFolder::drop(const std::string& video, const std::string& why) {
  const auto note = read_json(note_of(video));
  if (!note && !fs::exists(of_video(video))) return;
  log(LogLevel::warning, "job: video " + quote(video) + " is run again: " + why);
  if (note && note->is_object() && note->contains("outputs"))
    for (const auto& [output, size] : note->at("outputs").items())
      check(::unlink((outputs_ / output).c_str()) == 0 || errno == ENOENT, outputs_ / output);
  check(::unlink(note_of(video).c_str()) == 0 || errno == ENOENT, note_of(video));
  forget(video);
}

void JobFolder::check_claims(const Claims& claims) const {
  for (const auto& [video, outputs] : claims) {
    if (finished(video) || fs::exists(of_video(video))) continue;
    for (const std::string& output : outputs)
      if (fs::exists(outputs_ / output))
        throw InvalidArgument(
            ErrorCode::invalid_argument,
            "job: " + quote((outputs_ / output).native()) +
                " exists already and does not belong to this job; move it away, or "
                "give another output folder");
  }
}

/// Removes what a killed process was writing, and what it had no time to remove.
void JobFolder::clear_up() const {
  std::error_code error;
  fs::remove_all(folder_ / "work", error);
  check(error, folder_ / "work");
  for (const char* const name : {"work", "videos", "finished"}) make_folder(folder_ / name);
  for (fs::directory_iterator at(folder_ / "finished", error), end; !error && at != end;
       at.increment(error))
    fs::remove_all(of_video(at->path().stem().native()), error);
  check(error, folder_);
}

fs::path JobFolder::of_video(const std::string& video) const { return folder_ / "videos" / video; }

fs::path JobFolder::of_slice(const std::string& video, std::size_t slice) const {
  return of_video(video) / std::to_string(slice);
}

fs::path JobFolder::note_of(const std::string& video) const {
  return folder_ / "finished" / (video + ".json");
}

fs::path JobFolder::new_place() { return folder_ / "work" / std::to_string(places_++); }

std::optional<nlohmann::json> JobFolder::finished(const std::string& video) const {
  const auto note = read_json(note_of(video));
  return note ? std::optional(note->at("note")) : std::nullopt;
}

std::optional<nlohmann::json> JobFolder::plan(const std::string& video) const {
  return read_json(of_video(video) / "plan.json");
}

std::optional<nlohmann::json> JobFolder::result(const std::string& video, std::size_t slice) const {
  return read_json(of_slice(video, slice) / kResultFile);
}

std::optional<std::string> JobFolder::index(const std::string& video) const {
  const fs::path path = of_video(video) / kIndexFile;
  try {
    return std::string(text_of(*MappedFile::open(path)));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return std::nullopt;
    fail_at(path, error.code());
  }
}

bool JobFolder::begin(const std::string& video, const nlohmann::json& plan,
                      std::string_view index) {
  const StagedFolder staged(new_place(), of_video(video));
  if (!index.empty()) write_new(staged.path() / kIndexFile, index);
  write_new(staged.path() / "plan.json", plan.dump());
  return publish_folder(staged.path(), of_video(video), {ENOTEMPTY, EEXIST});
}

void JobFolder::forget(const std::string& video) {
  const fs::path away = new_place();
  check(::rename(of_video(video).c_str(), away.c_str()) == 0 || errno == ENOENT, of_video(video));
  std::error_code ignored;  // removed with the rest of work/ at the latest
  fs::remove_all(away, ignored);
}

std::unique_ptr<JobStore::Staged> JobFolder::stage(const std::string& video, std::size_t slice) {
  return std::make_unique<StagedFolder>(new_place(), of_slice(video, slice));
}

void JobFolder::join(const std::string& video, const std::string& file, const std::string& output) {
  const fs::path staged = new_place();
  OutputFile joined(staged);
  const std::size_t slices = plan(video).value().size();
  for (std::size_t slice = 0; slice < slices; ++slice) {
    const fs::path part = of_slice(video, slice) / file;
    try {
      joined.write(text_of(*MappedFile::open(part)));
    } catch (const std::system_error& error) {
      fail_at(part, error.code());
    }
  }
  joined.commit();
  publish_file(staged, outputs_ / output);
  note_output(video, output);
}

void JobFolder::write(const std::string& video, const std::string& output, std::string_view text) {
  write_whole(outputs_ / output, text);
  note_output(video, output);
}

void JobFolder::note_output(const std::string& video, const std::string& output) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(outputs_ / output, error);
  check(error, outputs_ / output);
  const MutexLock lock(mutex_);
  made_[video][output] = size;
}

void JobFolder::finish(const std::string& video, const nlohmann::json& note) {
  nlohmann::json outputs = nlohmann::json::object();
  {
    const MutexLock lock(mutex_);
    if (auto made = made_.extract(video)) outputs = std::move(made.mapped());
  }
  write_whole(note_of(video), nlohmann::json{{"note", note}, {"outputs", outputs}}.dump());
  std::error_code ignored;  // tried again when the folder is opened next
  fs::remove_all(of_video(video), ignored);
}

void JobFolder::write_whole(const fs::path& target, std::string_view text) {
  const fs::path staged = new_place();
  write_new(staged, text);
  publish_file(staged, target);
}

}  // namespace vcap
