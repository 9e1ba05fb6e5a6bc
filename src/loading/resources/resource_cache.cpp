// SPDX-License-Identifier: Apache-2.0
#include "loading/resources/resource_cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <set>
#include <system_error>
#include <utility>

#include "base/thread_annotations.hpp"
#include "capsule/resource_check.hpp"
#include "files/digest.hpp"
#include "files/output_file.hpp"
#include "files/write_all.hpp"
#include "loading/resources/download.hpp"
#include "loading/resources/resource_failure.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

constexpr std::string_view kPart = ".part";
constexpr std::string_view kLock = ".lock";
constexpr std::size_t kLargestIndex = 16 << 20;

std::filesystem::path with_ending(std::filesystem::path path, std::string_view ending) {
  path += ending;
  return path;
}

[[noreturn]] void cache_failure(const std::string& action, const std::filesystem::path& path,
                                int error) {
  std::string remedy = "; check the permissions of the cache, or name another one (VCAP_CACHE)";
  if (error == ENOSPC || error == EDQUOT) remedy = "; make room for it";
  throw ResourceFailure(ErrorCode::resource_cache, "cannot " + action + " " + path.native() + ": " +
                                                       std::generic_category().message(error) +
                                                       remedy);
}

/// flock(2): the lock ends with the descriptor, however the process ends.
bool lock_file(int fd, int operation) {
  int result = 0;
  do {
    result = ::flock(fd, operation);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

FileDescriptor open_lock(const std::filesystem::path& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) cache_failure("open", path, errno);
  return fd;
}

std::int64_t milliseconds_since_1970() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

/// The files whose digests this process has computed, with their state at that time. A file that
/// was written to or replaced counts as another one.
class CheckedFiles {
 public:
  using Identity = std::array<std::uint64_t, 7>;

  static CheckedFiles& shared() {
    static CheckedFiles files;
    return files;
  }
  static Identity identity(const struct stat& status) {
    const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
    return {number(status.st_dev),          number(status.st_ino),
            number(status.st_size),         number(status.st_mtim.tv_sec),
            number(status.st_mtim.tv_nsec), number(status.st_ctim.tv_sec),
            number(status.st_ctim.tv_nsec)};
  }
  bool contains(const Identity& identity, const std::string& sha256) const {
    const MutexLock lock(mutex_);
    return checked_.contains({identity, sha256});
  }
  void add(const Identity& identity, const std::string& sha256) {
    const MutexLock lock(mutex_);
    checked_.insert({identity, sha256});
  }

 private:
  mutable Mutex mutex_;
  std::set<std::pair<Identity, std::string>> checked_ VCAP_GUARDED_BY(mutex_);
};

/// The fault of the content; empty if there is none.
std::string content_fault(const Resource& resource, std::span<const std::byte> bytes) {
  if (bytes.size() != resource.size)
    return "has " + std::to_string(bytes.size()) + " bytes, but the capsule declares " +
           std::to_string(resource.size);
  const std::string digest = sha256(bytes);
  if (digest != resource.sha256)
    return "has SHA-256 " + digest + ", but the capsule declares " + resource.sha256;
  return {};
}

struct stat status_of(int fd, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) cache_failure("read", path, errno);
  return status;
}

/// A note that a process whose fetch failed leaves in the lock file for those that waited: the
/// source, the code and the reason, one per line.
std::string failure_note(const std::string& source, const ResourceFailure& failure) {
  return source + "\n" + std::to_string(static_cast<int>(failure.code())) + "\n" + failure.what();
}

void write_note(int lock, const std::string& note) noexcept {
  // Best effort: a process that finds no note tries to fetch.
  if (::ftruncate(lock, 0) == 0 && ::lseek(lock, 0, SEEK_SET) == 0)
    static_cast<void>(write_all(lock, std::as_bytes(std::span(note))));
}

/// Throws the failure in the note, if the note is for this source.
void throw_noted_failure(int lock, const std::string& source) {
  std::array<char, 8192> buffer{};
  const ssize_t count = ::pread(lock, buffer.data(), buffer.size(), 0);
  const std::string_view note(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  if (!note.starts_with(source + "\n")) return;
  const std::string_view rest = note.substr(source.size() + 1);
  const std::string_view reason = rest.substr(std::min(rest.find('\n'), rest.size() - 1) + 1);
  for (const ErrorCode code :
       {ErrorCode::resource_unavailable, ErrorCode::resource_mismatch, ErrorCode::resource_cache})
    if (rest.starts_with(std::to_string(static_cast<int>(code)) + "\n"))
      throw ResourceFailure(code, std::string(reason));
}

/// The cache's files and parts of files. Other files in the folder do not belong to the cache and
/// are not removed.
std::vector<CachedFile> list_folder(const std::filesystem::path& folder) {
  std::vector<CachedFile> files;
  std::error_code error;
  for (std::filesystem::directory_iterator place(folder, error), end; !error && place != end;
       place.increment(error)) {
    std::string name = place->path().filename().native();
    const bool is_part = name.ends_with(kPart);
    if (is_part) name.resize(name.size() - kPart.size());
    struct stat status {};
    if (!is_sha256(name) || ::lstat(place->path().c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    files.push_back({.sha256 = std::move(name),
                     .size = static_cast<std::uint64_t>(status.st_size),
                     .modified = std::int64_t{status.st_mtim.tv_sec} * 1000,
                     .is_part = is_part});
  }
  if (error) cache_failure("list", folder, error.value());
  return files;
}

}  // namespace

/// What the cache has for a resource: the file, its fault, or neither.
struct ResourceCache::Found {
  std::shared_ptr<const HeldResource> file{};
  std::string damage{};
};

ResourceCache::ResourceCache(ResourceOptions options)
    : options_(std::move(options)), folder_(std::filesystem::path(options_.cache) / "resources") {}

std::filesystem::path ResourceCache::path_of(const Resource& resource) const {
  return folder_ / resource.sha256;
}

std::string ResourceCache::source_of(const Resource& resource) const {
  return options_.mirror.empty() ? resource.url : options_.mirror + "/" + resource.sha256;
}

std::shared_ptr<const HeldResource> ResourceCache::obtain(const Resource& resource) {
  Found found = find(resource);
  if (!found.file && options_.offline) offline(resource, found.damage);
  if (!found.file) found.file = fetch(resource);
  note_use(resource);
  return found.file;
}

ResourceCache::Found ResourceCache::find(const Resource& resource) const {
  const std::filesystem::path path = path_of(resource);
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return {};
  if (!fd) cache_failure("open", path, errno);
  if (!lock_file(fd.get(), LOCK_SH)) cache_failure("lock", path, errno);
  const struct stat status = status_of(fd.get(), path);
  if (status.st_nlink == 0) return {};  // removed between open and lock
  if (!S_ISREG(status.st_mode)) return {.damage = "is not a regular file"};

  auto content = MappedFile::of(fd.get());
  const auto identity = CheckedFiles::identity(status);
  if (!CheckedFiles::shared().contains(identity, resource.sha256)) {
    if (std::string fault = content_fault(resource, content->bytes()); !fault.empty())
      return {.damage = std::move(fault)};
    CheckedFiles::shared().add(identity, resource.sha256);
  } else if (content->bytes().size() != resource.size) {
    return {.damage = content_fault(resource, content->bytes())};
  }
  return {.file = std::make_shared<const HeldResource>(
              HeldResource{.lock = std::move(fd), .content = std::move(content), .path = path})};
}

void ResourceCache::offline(const Resource& resource, const std::string& damage) const {
  const std::string file = "the file with SHA-256 " + resource.sha256 + " and " +
                           std::to_string(resource.size) + " bytes at " +
                           path_of(resource).native();
  if (!damage.empty())
    throw ResourceFailure(
        ErrorCode::resource_mismatch,
        "vcap is offline, and " + path_of(resource).native() + " " + damage + "; put " + file);
  throw ResourceFailure(ErrorCode::resource_offline,
                        "vcap is offline and the cache does not have it; put " + file +
                            " (its source is " + source_of(resource) + ")");
}

void ResourceCache::make_folder() const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) cache_failure("create", folder_, error.value());
}

std::shared_ptr<const HeldResource> ResourceCache::fetch(const Resource& resource) {
  make_folder();
  const FileDescriptor lock = open_lock(with_ending(path_of(resource), kLock));
  bool has_waited = false;
  if (!lock_file(lock.get(), LOCK_EX | LOCK_NB)) {
    log(LogLevel::info, "another process is fetching " + source_of(resource) + "; waiting for it");
    has_waited = true;
    if (!lock_file(lock.get(), LOCK_EX)) cache_failure("lock", path_of(resource), errno);
  }

  // Another process or thread may have fetched it in the meantime.
  Found found = find(resource);
  if (found.file) return found.file;
  if (!found.damage.empty()) {
    log(LogLevel::warning, path_of(resource).native() + " " + found.damage + "; fetching it again");
    if (::unlink(path_of(resource).c_str()) != 0)
      cache_failure("replace", path_of(resource), errno);
  }
  if (has_waited) throw_noted_failure(lock.get(), source_of(resource));
  write_note(lock.get(), "");
  try {
    return fetch_locked(resource);
  } catch (const ResourceFailure& failure) {
    write_note(lock.get(), failure_note(source_of(resource), failure));
    throw;
  }
}

std::shared_ptr<const HeldResource> ResourceCache::fetch_locked(const Resource& resource) {
  const std::filesystem::path path = path_of(resource);
  const std::filesystem::path part = with_ending(path, kPart);
  FileDescriptor fd(::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd) cache_failure("write", part, errno);
  try {
    reserve(resource);
    complete(resource, fd.get(), part);
  } catch (const ResourceFailure&) {
    struct stat status {};
    if (::fstat(fd.get(), &status) == 0 && status.st_size == 0) ::unlink(part.c_str());
    throw;
  }

  // Locked before it gets the name by which others could find and evict it.
  if (!lock_file(fd.get(), LOCK_SH)) cache_failure("lock", part, errno);
  if (::fsync(fd.get()) != 0) cache_failure("write", part, errno);
  if (::rename(part.c_str(), path.c_str()) != 0) cache_failure("write", path, errno);
  const FileDescriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
  CheckedFiles::shared().add(CheckedFiles::identity(status_of(fd.get(), path)), resource.sha256);
  auto content = MappedFile::of(fd.get());
  return std::make_shared<const HeldResource>(
      HeldResource{.lock = std::move(fd), .content = std::move(content), .path = path});
}

/// Downloads what the part lacks, and checks it. A wrong part is emptied.
void ResourceCache::complete(const Resource& resource, int fd,
                             const std::filesystem::path& part) const {
  const Download what{
      .url = source_of(resource), .size = resource.size, .fd = fd, .path = part.native()};
  const auto continued = status_of(fd, part).st_size;
  log(LogLevel::info, "fetching " + what.url + ", " + std::to_string(what.size) + " bytes, from " +
                          std::to_string(continued) + " on");
  try {
    download(what, options_);
    const std::string fault = content_fault(resource, MappedFile::of(fd)->bytes());
    if (!fault.empty()) throw mismatch("the fetched file " + fault);
  } catch (const ResourceFailure& failure) {
    if (failure.code() == ErrorCode::resource_cache) throw;
    const bool is_wrong = failure.code() == ErrorCode::resource_mismatch;
    if (is_wrong && ::ftruncate(fd, 0) != 0) cache_failure("write", part, errno);
    if (!is_wrong || continued == 0)
      throw ResourceFailure(failure.code(), what.url + ": " + failure.what());
    // The earlier content may be at fault, so fetch everything from the source and check that.
    log(LogLevel::info, what.url + ": " + failure.what() + "; fetching all of it");
    complete(resource, fd, part);
  }
}

CacheIndex ResourceCache::read_index() const {
  CacheIndex index;
  const std::filesystem::path path = folder_ / "index.json";
  try {
    const auto content = MappedFile::open(path);
    if (content->bytes().size() > kLargestIndex)
      throw InvalidArgument(ErrorCode::invalid_json, "it is too large");
    index = read_cache_index(content->bytes());
  } catch (const std::system_error&) {
    // No index yet, or an unreadable one: the folder gives everything except the order of use.
  } catch (const InvalidArgument& error) {
    log(LogLevel::warning,
        "the cache's index " + path.native() + " is damaged and is rebuilt: " + error.what());
  }
  return reconciled(index, list_folder(folder_));
}

void ResourceCache::write_index(const CacheIndex& index) const {
  const std::string text = cache_index_text(index);
  try {
    OutputFile file(folder_ / "index.json", OutputFile::Target::regular_file);
    file.write(text);
    file.commit();
  } catch (const OutputError& error) {
    throw ResourceFailure(ErrorCode::resource_cache, error.what());
  }
}

/// Makes room for the resource and reserves its space.
void ResourceCache::reserve(const Resource& resource) const {
  const auto within = [this] {
    return std::to_string(options_.cache_bytes) + " bytes (ResourceOptions::cache_bytes)";
  };
  if (resource.size > options_.cache_bytes)
    throw ResourceFailure(ErrorCode::resource_cache,
                          "its " + std::to_string(resource.size) +
                              " bytes do not fit into the cache, which is limited to " + within() +
                              "; raise the limit");
  const FileDescriptor lock = open_lock(folder_ / "index.lock");
  if (!lock_file(lock.get(), LOCK_EX)) cache_failure("lock", folder_ / "index.lock", errno);
  CacheIndex index = read_index();
  index.use(resource.sha256, resource.size, milliseconds_since_1970());
  for (const std::string& oldest : index.oldest_first()) {
    if (index.total_size() <= options_.cache_bytes) break;
    if (oldest != resource.sha256 && evict(oldest)) index.entries.erase(oldest);
  }
  if (const std::uint64_t total = index.total_size(); total > options_.cache_bytes)
    throw ResourceFailure(ErrorCode::resource_cache,
                          "the cache is limited to " + within() + "; its " +
                              std::to_string(resource.size) +
                              " bytes and the files that loaded capsules hold would take " +
                              std::to_string(total) + "; raise the limit, or close capsules");
  write_index(index);
}

/// Removes the file and its part; false if either is in use.
bool ResourceCache::evict(const std::string& sha256) const {
  const std::filesystem::path path = folder_ / sha256;
  const std::filesystem::path part = with_ending(path, kPart);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file && !lock_file(file.get(), LOCK_EX | LOCK_NB)) return false;
  if (!file && errno != ENOENT) return false;
  if (file && ::unlink(path.c_str()) != 0 && errno != ENOENT) return false;

  if (::access(part.c_str(), F_OK) != 0) return true;
  const FileDescriptor lock = open_lock(with_ending(path, kLock));
  return lock_file(lock.get(), LOCK_EX | LOCK_NB) &&
         (::unlink(part.c_str()) == 0 || errno == ENOENT);
}

void ResourceCache::note_use(const Resource& resource) const noexcept {
  // Best effort: a read-only cache works too, and evicts nothing.
  try {
    if (::access(folder_.c_str(), W_OK) != 0) return;
    const FileDescriptor lock = open_lock(folder_ / "index.lock");
    if (!lock_file(lock.get(), LOCK_EX)) return;
    CacheIndex index = read_index();
    index.use(resource.sha256, resource.size, milliseconds_since_1970());
    write_index(index);
  } catch (const std::exception& error) {
    log(LogLevel::debug, std::string("the use of a resource was not noted: ") + error.what());
  }
}

}  // namespace vcap
