// SPDX-License-Identifier: Apache-2.0
#include "cluster/object_store.hpp"

#include <nlohmann/json.hpp>

namespace vcap {

ObjectStore::~ObjectStore() = default;

void to_json(nlohmann::json& json, const ObjectReference& reference) {
  json = {{"name", reference.name}, {"size", reference.size}, {"sha256", reference.sha256}};
}

void from_json(const nlohmann::json& json, ObjectReference& reference) {
  reference = {json.at("name"), json.at("size"), json.at("sha256")};
}

}  // namespace vcap
