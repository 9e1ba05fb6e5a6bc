// SPDX-License-Identifier: Apache-2.0
#include <sodium.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cluster/object_store.hpp"
#include "files/digest.hpp"
#include "files/mapped_file.hpp"
#include "files/output_file.hpp"
#include "files/strict_json.hpp"
#include "vcap/base/error.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// What NATS' own clients use.
constexpr std::size_t kChunk = 128 << 10;
/// Chunks that are sent before their answers are awaited: 8 MiB.
constexpr std::size_t kChunksAtATime = 64;

/// Base64 for URLs, with padding, as the form of object stores wants it.
std::string to_base64(std::span<const unsigned char> bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_URLSAFE), '\0');
  ::sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(),
                      sodium_base64_VARIANT_URLSAFE);
  text.pop_back();  // the final zero
  return text;
}

std::string to_base64(std::string_view text) {
  return to_base64(std::span(reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

/// "SHA-256=" and Base64, from hexadecimal digits.
std::string digest_text(const std::string& sha256) {
  std::vector<unsigned char> bytes(sha256.size() / 2);
  ::sodium_hex2bin(bytes.data(), bytes.size(), sha256.data(), sha256.size(), nullptr, nullptr,
                   nullptr);
  return "SHA-256=" + to_base64(bytes);
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

class BrokerStore final : public ObjectStore {
 public:
  BrokerStore(JetStream& jet_stream, const Site& site)
      : jet_stream_(jet_stream),
        bucket_(site.bucket()),
        stream_("OBJ_" + bucket_),
        chunks_("$O." + bucket_ + ".C."),
        infos_("$O." + bucket_ + ".M.") {}

  ObjectReference put_bytes(const std::string& name, std::span<const std::byte> bytes) override {
    const std::string id = Uuid::random().to_string();
    const std::size_t chunks = (bytes.size() + kChunk - 1) / kChunk;
    std::vector<JetStream::NewMessage> window;
    for (std::size_t i = 0; i < chunks; ++i) {
      const auto chunk = bytes.subspan(i * kChunk, std::min(kChunk, bytes.size() - i * kChunk));
      window.push_back(
          {chunks_ + id, std::string(reinterpret_cast<const char*>(chunk.data()), chunk.size())});
      if (window.size() < kChunksAtATime && i + 1 < chunks) continue;
      jet_stream_.store_each(window);
      window.clear();
    }
    ObjectReference reference{name, bytes.size(), sha256(bytes)};
    const json info = {{"name", name},
                       {"bucket", bucket_},
                       {"nuid", id},
                       {"size", bytes.size()},
                       {"mtime", now_text()},
                       {"chunks", chunks},
                       {"digest", digest_text(reference.sha256)},
                       {"options", {{"max_chunk_size", kChunk}}}};
    replace_info(name, info);
    return reference;
  }

  bool contains(const std::string& name) override { return !info_of(name).is_null(); }

  void get(const ObjectReference& reference, const fs::path& file) override {
    OutputFile output(file, OutputFile::Target::regular_file);
    visit(reference, [&output](const std::string& chunk) { output.write(chunk); });
    output.commit();
  }

  std::string get_text(const ObjectReference& reference) override {
    std::string text;
    visit(reference, [&text](const std::string& chunk) { text += chunk; });
    return text;
  }

  void erase(const std::string& name) override {
    if (const auto message = jet_stream_.last(stream_, infos_ + to_base64(name))) erase(*message);
  }

  void remove(const std::string& prefix) override {
    for (const StoredMessage& message : jet_stream_.all(stream_, infos_ + '*'))
      if (parse(message.body).value("name", "").starts_with(prefix)) erase(message);
  }

 private:
  /// Calls `take` with each part. Throws after the last one if the content is another one.
  void visit(const ObjectReference& reference,
             const std::function<void(const std::string& chunk)>& take) {
    const json info = info_of(reference.name);
    if (info.is_null()) fail(reference, "it does not exist");
    const std::string id = info.value("nuid", "");
    if (id.find_first_of(".*> \t\r\n") != std::string::npos || id.empty())
      fail(reference, "its description is invalid");
    Sha256 digest;
    std::uint64_t size = 0;
    const auto take_chunk = [&](const StoredMessage& chunk) {
      size += chunk.body.size();
      if (size > reference.size) fail(reference, "it is larger than it should be");
      take(chunk.body);
      digest.update(std::as_bytes(std::span(chunk.body)));
    };
    if (info.value("chunks", 0) != 1) {
      jet_stream_.each(stream_, chunks_ + id, take_chunk);
    } else if (const auto chunk = jet_stream_.last(stream_, chunks_ + id)) {
      take_chunk(*chunk);
    }
    if (size != reference.size || digest.hexadecimal() != reference.sha256)
      fail(reference, "its content is another one");
  }

  static json parse(const std::string& text) {
    try {
      json info = parse_strictly(text);
      if (info.is_object()) return info;
    } catch (const InvalidArgument&) {
    }
    throw ClusterError(ErrorCode::invalid_message,
                       "an object's description is not an object of JSON: " + quote(text));
  }

  /// Removes an object with this description.
  void erase(const StoredMessage& message) {
    const std::string id = parse(message.body).value("nuid", "");
    jet_stream_.erase(stream_, message.sequence);
    if (!id.empty()) jet_stream_.purge(stream_, chunks_ + id);
  }

  /// Null if there is no such object.
  json info_of(const std::string& name) {
    const auto message = jet_stream_.last(stream_, infos_ + to_base64(name));
    if (!message) return nullptr;
    json info = parse(message->body);
    return info.value("deleted", false) ? json() : info;
  }

  /// Only the last description of a name stays.
  void replace_info(const std::string& name, const json& info) {
    const std::string subject = infos_ + to_base64(name);
    const json before = info_of(name);
    jet_stream_.store_last(subject, info.dump());
    if (!before.is_null()) jet_stream_.purge(stream_, chunks_ + before.value("nuid", ""));
  }

  [[noreturn]] void fail(const ObjectReference& reference, const std::string& why) const {
    throw ClusterError(ErrorCode::object_missing,
                       "object " + quote(reference.name) + " of bucket " + bucket_ + ": " + why);
  }

  JetStream& jet_stream_;
  const std::string bucket_;
  const std::string stream_;
  const std::string chunks_;
  const std::string infos_;
};

}  // namespace

std::unique_ptr<ObjectStore> make_broker_store(JetStream& jet_stream, const Site& site) {
  return std::make_unique<BrokerStore>(jet_stream, site);
}

}  // namespace vcap
