// SPDX-License-Identifier: Apache-2.0
#include "pipeline/http_body.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "files/file_descriptor.hpp"
#include "files/write_all.hpp"

namespace vcap {

/// A file that is removed with its owner, unless somebody has moved it away.
class HttpBody::File {
 public:
  /// On failure it is not open, and errno says why.
  explicit File(const std::filesystem::path& folder)
      : path_((folder / "upload-XXXXXX").string()),
        descriptor_(::mkostemp(path_.data(), O_CLOEXEC)),
        is_made_(descriptor_) {}
  ~File() {
    if (is_made_) ::unlink(path_.c_str());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const noexcept { return descriptor_.get(); }
  int close() noexcept { return descriptor_.close(); }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  FileDescriptor descriptor_;
  const bool is_made_;
};

HttpAnswer too_long_body(std::uint64_t most_bytes) {
  return {.status = 413,
          .text = most_bytes == 0 ? "this request may have no body\n"
                                  : "the body is longer than the allowed " +
                                        counted(most_bytes, "byte") + "\n"};
}

HttpBody::HttpBody(const BodyRule& rule) : most_bytes_(rule.most_bytes), folder_(rule.folder) {
  if (folder_.empty()) return;
  auto file = std::make_shared<File>(folder_);
  if (file->descriptor() < 0)
    fail(errno, folder_);
  else
    file_ = std::move(file);
}

void HttpBody::append(std::string_view bytes) {
  received_ += bytes.size();
  if (failure_) return;
  if (is_too_long()) {
    failure_ = too_long_body(most_bytes_);
  } else if (file_) {
    if (!write_all(file_->descriptor(), std::as_bytes(std::span(bytes)))) fail(errno, folder_);
  } else {
    try {
      memory_.append(bytes);
    } catch (const std::bad_alloc&) {
      fail(ENOMEM, "memory");
    }
  }
  if (!failure_) return;
  file_.reset();
  std::string().swap(memory_);
}

void HttpBody::fail(int error, const std::filesystem::path& folder) {
  const bool is_full =
      error == ENOSPC || error == EDQUOT || error == EFBIG || error == ENOMEM || error == EMFILE;
  failure_ = {.status = is_full ? 507U : 500U,
              .text = "the body cannot be kept in " + printable(folder.string()) + ": " +
                      std::generic_category().message(error) +
                      (is_full ? "; free some space there and try again\n"
                               : "; the folder must exist, and the server must write there\n")};
}

void HttpBody::move_into(HttpRequest& request) {
  request.body = std::move(memory_);
  if (!file_) return;
  if (file_->close() != 0) return fail(errno, folder_);  // some file systems report it only now
  request.body_file = file_->path();
  request.owner = std::move(file_);
}

}  // namespace vcap
