// SPDX-License-Identifier: Apache-2.0
#include "cluster/object_store.hpp"

#include <system_error>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

ObjectStore::~ObjectStore() = default;

ObjectReference ObjectStore::put(const std::string& name, const std::filesystem::path& file) {
  return put_bytes(name, open_object_file(file)->bytes());
}

std::shared_ptr<const MappedFile> open_object_file(const std::filesystem::path& file) {
  try {
    return MappedFile::open(file);
  } catch (const std::system_error& error) {
    throw OutputError(ErrorCode::output_open,
                      quote(file.native()) + " cannot be read: " + error.code().message());
  }
}

void to_json(nlohmann::json& json, const ObjectReference& reference) {
  json = {{"name", reference.name}, {"size", reference.size}, {"sha256", reference.sha256}};
}

void from_json(const nlohmann::json& json, ObjectReference& reference) {
  reference = {json.at("name"), json.at("size"), json.at("sha256")};
}

}  // namespace vcap
