// SPDX-License-Identifier: Apache-2.0
#include "hostile/sound_capsule.hpp"

#include "loading/capsule_builder.hpp"

namespace vcap::test {
namespace {

const CapsuleBuilder& builder() {
  static const CapsuleBuilder capsule = [] {
    CapsuleBuilder built("no code at all", fixture::info("fixture"));
    built.file("labels.txt", "person\nface\n").file("model.bin", std::string(2000, 'w'));
    return built;
  }();
  return capsule;
}

}  // namespace

std::string sound_manifest() { return builder().listed().dump(1); }

std::vector<ZipEntry> sound_entries() {
  const auto& files = builder().files;
  return {stored_entry("capsule.json", sound_manifest()),
          stored_entry("labels.txt", files.at("labels.txt")),
          stored_entry(library_entry(), files.at(library_entry())),
          stored_entry("model.bin", files.at("model.bin"))};
}

}  // namespace vcap::test
