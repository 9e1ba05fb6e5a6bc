// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "cluster/object_store.hpp"
#include "files/digest.hpp"
#include "files/mapped_file.hpp"
#include "files/output_file.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

/// An object's file has the object's name, escaped, so that no name leads out of the folder.
class FolderStore final : public ObjectStore {
 public:
  explicit FolderStore(fs::path folder) : folder_(std::move(folder)) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (!fs::is_directory(folder_, error))
      throw OutputError(ErrorCode::output_open,
                        "the shared folder " + quote(folder_.native()) +
                            " cannot be used: " + error.message() +
                            "; give a folder that this machine and all workers can write");
  }

  ObjectReference put_bytes(const std::string& name, std::span<const std::byte> bytes) override {
    OutputFile output(path_of(name), OutputFile::Target::regular_file);
    output.write(bytes);
    output.commit();
    return {name, bytes.size(), sha256(bytes)};
  }

  bool contains(const std::string& name) override {
    std::error_code ignored;
    return fs::is_regular_file(path_of(name), ignored);
  }

  void get(const ObjectReference& reference, const fs::path& file) override {
    const auto content = intact(reference);
    OutputFile output(file, OutputFile::Target::regular_file);
    output.write(content->bytes());
    output.commit();
  }

  std::string get_text(const ObjectReference& reference) override {
    const auto content = intact(reference);
    const std::span<const std::byte> bytes = content->bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void erase(const std::string& name) override {
    std::error_code ignored;
    fs::remove(path_of(name), ignored);
  }

  void remove(const std::string& prefix) override {
    const std::string beginning = to_token(prefix);
    std::error_code ignored;
    for (fs::directory_iterator at(folder_, ignored), end; at != end; at.increment(ignored))
      if (at->path().filename().native().starts_with(beginning)) fs::remove(at->path(), ignored);
  }

 private:
  std::shared_ptr<const MappedFile> intact(const ObjectReference& reference) {
    if (!contains(reference.name)) fail(reference, "it does not exist");
    auto content = open_object_file(path_of(reference.name));
    if (content->bytes().size() != reference.size || sha256(content->bytes()) != reference.sha256)
      fail(reference, "its content is another one");
    return content;
  }

  fs::path path_of(const std::string& name) const { return folder_ / to_token(name); }

  [[noreturn]] void fail(const ObjectReference& reference, const std::string& why) const {
    throw ClusterError(ErrorCode::object_missing, "object " + quote(reference.name) + " in " +
                                                      quote(folder_.native()) + ": " + why);
  }

  const fs::path folder_;
};

}  // namespace

std::unique_ptr<ObjectStore> make_folder_store(const fs::path& folder) {
  return std::make_unique<FolderStore>(folder);
}

}  // namespace vcap
