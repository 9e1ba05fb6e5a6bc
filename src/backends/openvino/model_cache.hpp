// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "vcap/backends/engine.hpp"

namespace vcap {

/// Compiled models in a folder. The key of a model is the digest of all that it was made from.
///
/// A cache only makes a start faster. A model that cannot be read or is damaged is logged and
/// compiled again. A model that cannot be written (a full disk, a folder without permission) is
/// logged. If the folder grows beyond its bound, the least recently used models are deleted.
/// Several processes may share a folder.
/// Thread safety: thread-safe.
class ModelCache {
 public:
  ModelCache(std::filesystem::path folder, std::uint64_t max_bytes);

  /// The digest of the model's bytes, its input, the settings that change how it is compiled, and
  /// `engine`: name, version and device. 64 hexadecimal digits.
  static std::string key_of(const ModelFile& model, const PictureInput& input,
                            std::optional<cv::Size> size, const EngineSettings& settings,
                            const std::string& engine);

  /// The bytes that were kept under the key; `nullopt` if they are absent or damaged.
  std::optional<std::string> find(const std::string& key) const noexcept;
  /// Keeps the bytes that `make_blob` gives, unless they are more than the bound.
  void keep(const std::string& key, const std::function<std::string()>& make_blob) const noexcept;
  /// Removes an entry that the engine did not accept.
  void refuse(const std::string& key, const std::string& why) const noexcept;

 private:
  std::filesystem::path path_of(const std::string& key) const;
  void make_room(std::uint64_t bytes) const;

  const std::filesystem::path folder_;
  const std::uint64_t max_bytes_;
};

}  // namespace vcap
