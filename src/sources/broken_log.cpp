// SPDX-License-Identifier: Apache-2.0
#include "sources/broken_log.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

void BrokenLog::skip(const std::string& picture, const std::string& why) {
  const std::string name = valid_utf8(printable(picture));
  fresh_.add(name);
  const bool is_known = std::ranges::count(all_.first, name) > 0;
  if (all_.add(name))
    log(LogLevel::warning, source_ + ": the picture " + name + " is skipped: " + why);
  else if (!is_known)
    log_rest();
}

void BrokenLog::skip_unnamed(std::int64_t count) {
  if (count <= 0) return;
  fresh_.count += count;
  all_.count += count;
  log_rest();
}

void BrokenLog::log_rest() {
  if (std::exchange(told_rest_, true)) return;
  log(LogLevel::warning, source_ +
                             ": further pictures that cannot be decoded are skipped; they are "
                             "counted, but not logged");
}

}  // namespace vcap
