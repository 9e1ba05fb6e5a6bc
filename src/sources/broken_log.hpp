// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "vcap/media/broken_pictures.hpp"

namespace vcap {

/// Counts the broken pictures of one reader, and logs the first ones (warning). Thread safety:
/// thread-compatible.
class BrokenLog {
 public:
  /// `source`: its description, for the log.
  explicit BrokenLog(std::string source) : source_(std::move(source)) {}

  /// A picture was skipped. `picture`: the name for BrokenPictures; any bytes. `why`: a part of a
  /// sentence, such as "it is damaged".
  void skip(const std::string& picture, const std::string& why);
  /// Pictures without a name were skipped.
  void skip_unnamed(std::int64_t count);
  /// What was skipped since the last call.
  BrokenPictures take() { return std::exchange(fresh_, {}); }

 private:
  void log_rest();

  const std::string source_;
  BrokenPictures all_{};    ///< since the beginning
  BrokenPictures fresh_{};  ///< not taken yet
  bool told_rest_ = false;  ///< the log says that no more will be logged
};

}  // namespace vcap
