// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "files/file_descriptor.hpp"
#include "files/mapped_file.hpp"
#include "loading/resources/cache_index.hpp"
#include "vcap/capsule/resource.hpp"
#include "vcap/loading/resources/resource_options.hpp"

namespace vcap {

/// A checked file of the cache, mapped. It holds a shared lock on the file, so no process removes
/// it from the cache.
struct HeldResource {
  FileDescriptor lock{};
  std::shared_ptr<const MappedFile> content{};
  std::filesystem::path path{};
};

/// The folder in which this machine keeps resources, shared with other processes.
///
/// `<cache>/resources/` holds `<sha256>`, `<sha256>.part` while it is fetched, `<sha256>.lock`,
/// which the fetching process locks, and index.json with index.lock. A file gets its name when it
/// is complete, checked and on the disk. All functions throw ResourceFailure. Thread-safe.
class ResourceCache {
 public:
  /// `options` must come from with_environment().
  explicit ResourceCache(ResourceOptions options);

  /// The resource's file, fetched if it is missing. Waits if another process is fetching it, and
  /// fails if that one does. A damaged file is fetched again. Its digest is computed once per
  /// process, unless the file changes.
  std::shared_ptr<const HeldResource> obtain(const Resource& resource);

  /// The path of the file, whether or not it exists.
  std::filesystem::path path_of(const Resource& resource) const;
  /// The URL that it is fetched from: on the mirror, if one is set.
  std::string source_of(const Resource& resource) const;

 private:
  struct Found;

  Found find(const Resource& resource) const;
  std::shared_ptr<const HeldResource> fetch(const Resource& resource);
  std::shared_ptr<const HeldResource> fetch_locked(const Resource& resource);
  void complete(const Resource& resource, int fd, const std::filesystem::path& part) const;
  void make_folder() const;

  CacheIndex read_index() const;
  void write_index(const CacheIndex& index) const;
  void reserve(const Resource& resource) const;
  bool evict(const std::string& sha256) const;
  void note_use(const Resource& resource) const noexcept;
  [[noreturn]] void offline(const Resource& resource, const std::string& damage) const;

  const ResourceOptions options_;
  const std::filesystem::path folder_;
};

}  // namespace vcap
