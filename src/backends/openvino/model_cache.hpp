// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "vcap/backends/engine.hpp"

namespace vcap {

/// Compiled models in a folder, by the digest of all that they were made of.
///
/// A cache can only make a start faster: what cannot be read, is damaged, or cannot be written (a
/// full disk, a folder without permission) is logged and compiled anew. The models that were used
/// longest ago go when the folder is larger than its bound. Several processes may share a folder.
/// Thread safety: thread-safe.
class ModelCache {
 public:
  ModelCache(std::filesystem::path folder, std::uint64_t max_bytes);

  /// Of the model's bytes, its input, the settings that change how it is compiled, and `engine`:
  /// name, version and device. 64 hexadecimal digits.
  static std::string key_of(const ModelFile& model, const PictureInput& input,
                            std::optional<cv::Size> size, const EngineSettings& settings,
                            const std::string& engine);

  /// What was kept under the key, as it was; nothing if it is not there or not whole.
  std::optional<std::string> find(const std::string& key) const noexcept;
  /// Keeps what `make_blob` gives, unless it is larger than the bound.
  void keep(const std::string& key, const std::function<std::string()>& make_blob) const noexcept;
  /// Removes what the engine did not take.
  void refuse(const std::string& key, const std::string& why) const noexcept;

 private:
  std::filesystem::path path_of(const std::string& key) const;
  void make_room(std::uint64_t bytes) const;

  const std::filesystem::path folder_;
  const std::uint64_t max_bytes_;
};

}  // namespace vcap
