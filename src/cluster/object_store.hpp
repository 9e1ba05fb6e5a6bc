// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cluster/jet_stream.hpp"
#include "cluster/site.hpp"
#include "files/mapped_file.hpp"

namespace vcap {

/// A file in an object store, and how to know that it is the same. Thread safety: value.
struct ObjectReference {
  std::string name{};
  std::uint64_t size = 0;
  std::string sha256{};  ///< 64 lower-case hexadecimal digits
};
void to_json(nlohmann::json& json, const ObjectReference& reference);
void from_json(const nlohmann::json& json, ObjectReference& reference);

/// Files that the machines of a site share, by name. A name stands for one content for good, unless
/// it is removed. Thread safety: thread-safe.
class ObjectStore {
 public:
  ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;
  virtual ~ObjectStore();

  /// Stores a file, which must not change meanwhile. Throws OutputError if it cannot be read or
  /// stored; ClusterError.
  ObjectReference put(const std::string& name, const std::filesystem::path& file);
  /// Stores bytes. Throws likewise.
  virtual ObjectReference put_bytes(const std::string& name, std::span<const std::byte> bytes) = 0;
  /// Whether there is an object of that name, complete.
  virtual bool contains(const std::string& name) = 0;
  /// Writes an object into a new file. Throws ClusterError: object_missing if it does not exist or
  /// is not what the reference says; OutputError if the file cannot be written.
  virtual void get(const ObjectReference& reference, const std::filesystem::path& file) = 0;
  /// The same into memory; for small objects.
  virtual std::string get_text(const ObjectReference& reference) = 0;
  /// Removes an object, if it exists.
  virtual void erase(const std::string& name) = 0;
  /// Removes all objects whose names begin with this.
  virtual void remove(const std::string& prefix) = 0;
};

/// For stores. Throws OutputError if the file cannot be read.
std::shared_ptr<const MappedFile> open_object_file(const std::filesystem::path& file);

/// In JetStream, in the form of NATS' own object stores (ADR-20 of NATS), in the bucket
/// `vcap_SITE`: other clients can read it. For files up to some hundred MB: the broker keeps them
/// on its disk. Borrows both.
std::unique_ptr<ObjectStore> make_broker_store(JetStream& jet_stream, const Site& site);
/// In a folder that all machines see under the same path, such as one on NFS. Throws OutputError if
/// it is not a folder that can be written.
std::unique_ptr<ObjectStore> make_folder_store(const std::filesystem::path& folder);

}  // namespace vcap
