// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/capsule_files.hpp"

#include <utility>

#include "base/text.hpp"
#include "capsule/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

CapsuleFiles::CapsuleFiles(std::map<std::string, Bytes, std::less<>> files,
                           std::shared_ptr<const void> storage)
    : files_(std::move(files)), storage_(std::move(storage)) {}

bool CapsuleFiles::contains(std::string_view name) const { return files_.contains(name); }

std::vector<std::string> CapsuleFiles::names() const {
  std::vector<std::string> names;
  names.reserve(files_.size());
  for (const auto& [name, bytes] : files_) names.push_back(name);
  return names;
}

CapsuleFiles::Bytes CapsuleFiles::operator[](std::string_view name) const& {
  const auto file = files_.find(name);
  if (file == files_.end())
    throw InvalidArgument(ErrorCode::invalid_argument, "the capsule has no file " + quote(name) +
                                                           "; it has: " + quote_list(names()));
  return file->second;
}

std::string_view CapsuleFiles::text(std::string_view name) const& {
  const Bytes bytes = (*this)[name];
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace vcap
