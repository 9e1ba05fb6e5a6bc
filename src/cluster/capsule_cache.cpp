// SPDX-License-Identifier: Apache-2.0
#include "cluster/capsule_cache.hpp"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/capsule_info_json.hpp"
#include "files/digest.hpp"
#include "files/mapped_file.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

/// Whether the file is there and has the content that its name promises.
bool is_intact(const fs::path& file, const ObjectReference& object) {
  try {
    const auto content = MappedFile::open(file);
    return content->bytes().size() == object.size && sha256(content->bytes()) == object.sha256;
  } catch (const std::system_error&) {
    return false;
  }
}

/// Part of a file's name, so it must be nothing else.
void check_digest(const std::string& digest) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (digest.size() != 64 || !std::ranges::all_of(digest, is_digit))
    throw ClusterError(ErrorCode::invalid_message,
                       "a capsule's digest is not 64 hexadecimal digits: " + quote(digest));
}

}  // namespace

std::string capsule_object(const std::string& sha256) { return "capsule/" + sha256; }

ObjectReference send_capsule(ObjectStore& objects, const std::string& path) {
  const auto content = open_object_file(path);
  ObjectReference reference;
  reference.sha256 = sha256(content->bytes());
  reference.name = capsule_object(reference.sha256);
  reference.size = content->bytes().size();
  if (!objects.contains(reference.name)) objects.put(reference.name, path);
  return reference;
}

CapsuleCache::CapsuleCache(fs::path folder, LoadOptions load)
    : folder_(std::move(folder)), load_(std::move(load)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    throw OutputError(ErrorCode::output_open, "the folder for capsules " + quote(folder_.native()) +
                                                  " cannot be created: " + error.message());
}

fs::path CapsuleCache::file_of(const ObjectReference& object) const {
  check_digest(object.sha256);
  return folder_ / (object.sha256 + ".cap");
}

fs::path CapsuleCache::fetched(const ObjectReference& object, ObjectStore& objects) const {
  fs::create_directories(folder_);  // somebody may have removed it
  fs::path file = file_of(object);
  if (is_intact(file, object))
    restore(object, objects);
  else
    objects.get(object, file);
  return file;
}

/// If the broker does not answer, the capsule works here all the same.
void CapsuleCache::restore(const ObjectReference& object, ObjectStore& objects) const noexcept {
  try {
    const fs::path file = file_of(object);
    if (objects.contains(object.name) || !is_intact(file, object)) return;
    objects.put(object.name, file);
    log(LogLevel::warning,
        "cluster: the site had lost " + quote(object.name) + "; it is sent again from here");
  } catch (const std::exception& error) {
    log(LogLevel::debug, "cluster: " + quote(object.name) + " is not looked up: " + error.what());
  }
}

std::shared_ptr<Capsule> CapsuleCache::load(const JobMessage::CapsuleObject& capsule,
                                            InvalidOutput invalid, ObjectStore& objects) {
  nlohmann::json key = {capsule.object.sha256, capsule.config, to_string(invalid)};
  if (capsule.stencil) key.push_back(stencil_json(*capsule.stencil));
  const MutexLock lock(mutex_);
  std::erase_if(loaded_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Capsule>& known = loaded_[key.dump()];
  std::shared_ptr<Capsule> loaded = known.lock();
  if (loaded) {
    restore(capsule.object, objects);
    return loaded;
  }
  LoadOptions options = load_;
  options.config = capsule.config;
  options.stencil = capsule.stencil;
  options.outputs.invalid = invalid;
  known = loaded = load_capsule(fetched(capsule.object, objects), options);
  return loaded;
}

}  // namespace vcap
