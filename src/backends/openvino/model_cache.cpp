// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/model_cache.hpp"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>
#include <vector>

#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".model";
constexpr std::size_t kDigestLength = 64;

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) fail();
  }
  void add(const void* bytes, std::size_t size) {
    if (EVP_DigestUpdate(context_.get(), bytes, size) != 1) fail();
  }
  /// With its length, so that two fields never run into each other.
  void add_field(const void* bytes, std::size_t size) {
    const std::uint64_t length = size;
    add(&length, sizeof length);
    add(bytes, size);
  }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (EVP_DigestFinal_ex(context_.get(), digest.data(), &size) != 1) fail();
    std::string text;
    for (unsigned int i = 0; i < size; ++i)
      for (const int digit : {digest[i] >> 4, digest[i] & 15}) text += "0123456789abcdef"[digit];
    return text;
  }

 private:
  [[noreturn]] static void fail() {
    throw EngineError(ErrorCode::inference_failed, "model cache: SHA-256 is not available");
  }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::string digest_of(const std::string& bytes) {
  Sha256 digest;
  digest.add(bytes.data(), bytes.size());
  return digest.hex();
}

void log_warning(const std::string& text) noexcept {
  try {
    log(LogLevel::warning, text);
  } catch (...) {  // a log that fails stops nothing
  }
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
  digest.add_field(model.bytes.data(), model.bytes.size());
  digest.add_field(model.weights.data(), model.weights.size());
  std::ostringstream rest;
  rest.precision(17);
  rest << fs::path(model.name).extension().string() << '|' << engine << '|' << input.name << '|'
       << static_cast<int>(input.colors) << '|' << static_cast<int>(input.layout);
  for (const double value : input.mean) rest << '|' << value;
  for (const double value : input.scale) rest << '/' << value;
  if (size) rest << '|' << size->width << 'x' << size->height;
  rest << '|' << static_cast<int>(settings.goal) << '|' << static_cast<int>(settings.precision)
       << '|' << settings.streams << '|' << settings.threads;
  for (const auto& [name, values] : settings.constants) rest << '|' << name << values.size();
  const std::string text = std::move(rest).str();
  digest.add_field(text.data(), text.size());
  return digest.hex();
}

fs::path ModelCache::path_of(const std::string& key) const {
  return folder_ / (key + std::string(kEnding));
}

std::optional<std::string> ModelCache::find(const std::string& key) const {
  const fs::path path = path_of(key);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string digest(kDigestLength, '\0');
  std::ostringstream rest;
  if (!file.read(digest.data(), kDigestLength) || !(rest << file.rdbuf())) {
    refuse(key, "it is cut off");
    return std::nullopt;
  }
  std::string blob = std::move(rest).str();
  if (digest_of(blob) != digest) {
    refuse(key, "its digest is not that of its content");
    return std::nullopt;
  }
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // used last
  return blob;
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
    static std::atomic<std::uint64_t> number{0};
    staged = folder_ / (".staged-" + std::to_string(::getpid()) + "-" + std::to_string(++number));
    std::ofstream file(staged, std::ios::binary);
    file << digest_of(blob) << blob;
    file.close();
    if (!file) throw std::runtime_error("it cannot be written; is the disk full?");
    fs::rename(staged, path_of(key));
  } catch (const std::exception& error) {
    std::error_code ignored;
    if (!staged.empty()) fs::remove(staged, ignored);
    log_warning("model cache " + folder_.string() +
                ": a compiled model is not kept: " + error.what());
  }
}

void ModelCache::refuse(const std::string& key, const std::string& why) const noexcept {
  std::error_code ignored;
  fs::remove(path_of(key), ignored);
  log_warning("model cache " + folder_.string() + ": " + key.substr(0, 12) +
              " is not used and compiled anew: " + why);
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
  // What a process that died left behind.
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : fs::directory_iterator(folder_, ignored))
    if (entry.path().filename().string().starts_with(".staged-") &&
        entry.last_write_time(ignored) < long_ago)
      fs::remove(entry.path(), ignored);
}

}  // namespace vcap
