// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/model_cache.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <random>
#include <span>
#include <system_error>
#include <vector>

#include "files/digest.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".model";
constexpr std::size_t kDigestLength = 64;

/// Adds the length too, so that two fields cannot be mistaken for each other.
void add_field(Sha256& digest, const void* bytes, std::size_t size) {
  const std::uint64_t length = size;
  digest.update(std::as_bytes(std::span(&length, 1)));
  digest.update({static_cast<const std::byte*>(bytes), size});
}

/// Includes the key, so that a file under another key's name is not used.
std::string digest_of(const std::string& key, const std::string& bytes) {
  Sha256 digest;
  add_field(digest, key.data(), key.size());
  add_field(digest, bytes.data(), bytes.size());
  return digest.hexadecimal();
}

struct Kept {
  fs::path path;
  std::uint64_t bytes;
  fs::file_time_type used;
};

std::vector<Kept> kept_in(const fs::path& folder) {
  std::vector<Kept> all;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() != kEnding) continue;
    std::error_code gone;
    const Kept kept{entry.path(), entry.file_size(gone), entry.last_write_time(gone)};
    if (!gone) all.push_back(kept);
  }
  std::ranges::sort(all, {}, &Kept::used);
  return all;
}

}  // namespace

ModelCache::ModelCache(fs::path folder, std::uint64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

std::string ModelCache::key_of(const ModelFile& model, const PictureInput& input,
                               std::optional<cv::Size> size, const EngineSettings& settings,
                               const std::string& engine) {
  Sha256 digest;
  add_field(digest, model.bytes.data(), model.bytes.size());
  add_field(digest, model.weights.data(), model.weights.size());
  const auto add_text = [&](const std::string& text) {
    add_field(digest, text.data(), text.size());
  };
  const auto add_numbers = [&](std::initializer_list<std::uint64_t> numbers) {
    add_field(digest, numbers.begin(), numbers.size() * sizeof(std::uint64_t));
  };
  const auto add_values = [&](const std::vector<double>& values) {
    add_field(digest, values.data(), values.size() * sizeof(double));
  };
  // Raised whenever vcap compiles another model of the same file.
  constexpr std::uint64_t kTransformations = 2;
  add_numbers({kTransformations});
  add_text(fs::path(model.name).extension().string());
  add_text(engine);
  add_text(input.name);
  add_values(input.mean);
  add_values(input.scale);
  const cv::Size own = size.value_or(cv::Size());  // 0×0: the model's own
  add_numbers({static_cast<std::uint64_t>(input.colors), static_cast<std::uint64_t>(input.layout),
               static_cast<std::uint64_t>(own.width), static_cast<std::uint64_t>(own.height),
               static_cast<std::uint64_t>(settings.goal),
               static_cast<std::uint64_t>(settings.precision), settings.streams, settings.threads});
  // Each request gets their values; only their lengths become part of the model.
  for (const auto& [name, values] : settings.constants) {
    add_text(name);
    add_numbers({values.size()});
  }
  return digest.hexadecimal();
}

fs::path ModelCache::path_of(const std::string& key) const {
  return folder_ / (key + std::string(kEnding));
}

std::optional<std::string> ModelCache::find(const std::string& key) const noexcept {
  try {
    const fs::path path = path_of(key);
    std::error_code failed;
    if (!fs::is_regular_file(path, failed)) return std::nullopt;
    const std::uintmax_t size = fs::file_size(path, failed);
    std::ifstream file(path, std::ios::binary);
    if (failed || !file) return std::nullopt;
    std::string digest(kDigestLength, '\0');
    if (size <= kDigestLength || size > max_bytes_) {
      refuse(key, "it has " + std::to_string(size) + " bytes");
      return std::nullopt;
    }
    std::string blob(size - kDigestLength, '\0');
    if (!file.read(digest.data(), kDigestLength) ||
        !file.read(blob.data(), static_cast<std::streamsize>(blob.size()))) {
      refuse(key, "it cannot be read");
      return std::nullopt;
    }
    if (digest_of(key, blob) != digest) {
      refuse(key, "its digest is not that of its content");
      return std::nullopt;
    }
    fs::last_write_time(path, fs::file_time_type::clock::now(), failed);  // marks it as used last
    return blob;
  } catch (const std::exception& error) {
    refuse(key, error.what());
    return std::nullopt;
  }
}

void ModelCache::keep(const std::string& key,
                      const std::function<std::string()>& make_blob) const noexcept {
  fs::path staged;
  try {
    const std::string blob = make_blob();
    const std::uint64_t bytes = blob.size() + kDigestLength;
    if (bytes > max_bytes_) return;
    fs::create_directories(folder_);
    make_room(bytes);
    // Random, since processes in two containers may share a folder and have the same process id.
    staged = folder_ / (".staged-" + std::to_string(::getpid()) + "-" +
                        std::to_string(std::random_device{}()) + "-" +
                        std::to_string(std::random_device{}()));
    std::ofstream file(staged, std::ios::binary);
    file << digest_of(key, blob) << blob;
    file.close();
    if (!file) throw std::runtime_error("it cannot be written; check the free space");
    fs::rename(staged, path_of(key));
  } catch (const std::exception& error) {
    std::error_code ignored;
    if (!staged.empty()) fs::remove(staged, ignored);
    log(LogLevel::warning,
        "model cache " + folder_.string() + ": a compiled model is not stored: " + error.what());
  }
}

void ModelCache::refuse(const std::string& key, const std::string& why) const noexcept {
  std::error_code ignored;
  fs::remove(path_of(key), ignored);
  log(LogLevel::warning, "model cache " + folder_.string() + ": " + key.substr(0, 12) +
                             " is not used, and the model is compiled again: " + why);
}

void ModelCache::make_room(std::uint64_t bytes) const {
  const std::vector<Kept> kept = kept_in(folder_);
  std::uint64_t total = bytes;
  for (const Kept& model : kept) total += model.bytes;
  std::error_code ignored;
  for (const Kept& model : kept) {
    if (total <= max_bytes_) break;
    fs::remove(model.path, ignored);
    total -= model.bytes;
  }
  // Files that a process left behind when it died.
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : fs::directory_iterator(folder_, ignored))
    if (entry.path().filename().string().starts_with(".staged-") &&
        entry.last_write_time(ignored) < long_ago)
      fs::remove(entry.path(), ignored);
}

}  // namespace vcap
