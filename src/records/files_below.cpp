// SPDX-License-Identifier: Apache-2.0
#include "records/files_below.hpp"

#include <system_error>

#include "vcap/base/error.hpp"

namespace vcap {

namespace fs = std::filesystem;

void each_file_below(const fs::path& folder,
                     const std::function<void(const fs::path& file, const fs::path& below)>& take) {
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code unknown;
    if (at->path().filename().native().starts_with('.'))
      at.disable_recursion_pending();
    else if (at->is_regular_file(unknown))
      take(at->path(), at->path().lexically_relative(folder));
  }
  if (failed)
    throw SourceError(ErrorCode::source_open, "folder " + folder.string() + " cannot be read: " +
                                                  failed.message() + "; check its permissions");
}

}  // namespace vcap
