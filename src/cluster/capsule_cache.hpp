// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "base/thread_annotations.hpp"
#include "cluster/job_message.hpp"
#include "cluster/object_store.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/loading/load_capsule.hpp"

namespace vcap {

/// The name of the object that holds a capsule's file. Thread-safe.
std::string capsule_object(const std::string& sha256);

/// Sends a capsule's file to the site, unless the site has it. Throws OutputError if it cannot be
/// read; ClusterError. Thread-safe.
ObjectReference send_capsule(ObjectStore& objects, const std::string& path);

/// The capsules of a worker: their files, fetched once into a folder, and the loaded ones, which
/// jobs with the same settings share. Thread safety: thread-safe.
class CapsuleCache {
 public:
  /// Creates the folder. Throws OutputError.
  CapsuleCache(std::filesystem::path folder, LoadOptions load);

  /// Loads a capsule of a job, or gives the one that is loaded already. If the site has lost its
  /// file, sends the one that is here, for the other workers. Throws ClusterError if its
  /// file cannot be fetched, OutputError if it cannot be written, and as load_capsule().
  std::shared_ptr<Capsule> load(const JobMessage::CapsuleObject& capsule, InvalidOutput invalid,
                                ObjectStore& objects) VCAP_EXCLUDES(mutex_);

 private:
  std::filesystem::path file_of(const ObjectReference& object) const;
  std::filesystem::path fetched(const ObjectReference& object, ObjectStore& objects) const;
  void restore(const ObjectReference& object, ObjectStore& objects) const noexcept;

  const std::filesystem::path folder_;
  const LoadOptions load_;
  Mutex mutex_;  ///< held while a capsule is loaded
  std::map<std::string, std::weak_ptr<Capsule>> loaded_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
