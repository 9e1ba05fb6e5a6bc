// SPDX-License-Identifier: Apache-2.0
#include "hostile/seeds.hpp"

#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "files/digest.hpp"
#include "hostile/hostile_case.hpp"
#include "hostile/sound_capsule.hpp"
#include "isolation/wire_examples.hpp"
#include "isolation/wire_exception.hpp"
#include "loading/archive/archive_directory.hpp"
#include "loading/archive/signature_block.hpp"
#include "loading/crypto/encryption_header.hpp"
#include "loading/resources/cache_index.hpp"
#include "loading/signed_capsules.hpp"
#include "support/unfit_libraries.hpp"

namespace vcap::test {
namespace {

constexpr std::size_t kLongest = 4096;
constexpr std::size_t kLongestArchive = 24576;  // larger: data is aligned to pages
constexpr std::size_t kLongestLibrary = 12288;  // larger: its parts are aligned to pages

/// The bytes of the first entry, capsule.json. In all manifest cases, it is stored uncompressed.
std::string manifest_in(const std::string& capsule) {
  const auto entries = read_directory(std::as_bytes(std::span(capsule)), ArchiveLimits{}, "seed");
  return capsule.substr(entries.front().data_offset, entries.front().size);
}

/// Adds a well-formed signature block with invented keys and signatures.
std::string with_signatures(std::size_t count, const std::string& content) {
  std::vector<SignatureBlock::Slot> slots(count);
  for (std::size_t i = 0; i < count; ++i) {
    KeyId::Bytes key{};
    key.fill(static_cast<std::byte>(i + 1));
    slots[i].key = KeyId(key);
    slots[i].signature.fill(std::byte{9});
  }
  const auto block = signature_block_bytes(slots, sha256(std::as_bytes(std::span(content))));
  return content + std::string(reinterpret_cast<const char*>(block.data()), block.size());
}

/// Encrypts in chunks of 64 bytes, with the key of the fuzzing program.
std::string encrypted(const std::string& content) {
  return encrypted_by(encryption_key(7), content, {.chunk_size = 64});
}

std::string encrypted_by_passphrase() {
  EncryptionHeader header{
      .mode = EncryptionHeader::Mode::passphrase, .chunk_size = 64, .passes = 1, .memory_kib = 8};
  const auto bytes = encryption_header_bytes(header);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Annotations of Pascal VOC with each kind of element that is read or left out.
std::string sound_annotations(const std::string& prolog) {
  const std::string box =
      "<bndbox><xmin>11</xmin><ymin>21</ymin><xmax>30.5</xmax><ymax>60</ymax></bndbox>";
  return prolog +
         "<annotation><folder>VOC2012</folder><filename>1.jpg</filename>"
         "<source><database>a</database></source>"
         "<size><width>486</width><height> 500 </height><depth>3</depth></size>"
         "<segmented>0</segmented><scene>road</scene><object><name>a&lt;&#233;</name>"
         "<pose>Left</pose><truncated>1</truncated><occluded>0</occluded><difficult>1</difficult>"
         "<attributes><attribute><name>n</name><value>1</value></attribute></attributes>" +
         box + "<part><name>head</name>" + box + "</part></object></annotation>";
}

/// What tests/fuzz/wire_fuzz.cpp reads: its choice of a type, with its number of pictures, and a
/// message.
std::string wire_seed(int type, const WireMessage& message) {
  return static_cast<char>(type | static_cast<int>(message.pictures.size()) << 4) + message.bytes;
}

WireMessage exception_message(const std::exception_ptr& thrown) {
  WireWriter writer;
  write_exception(writer, thrown);
  return std::move(writer).take();
}

}  // namespace

std::map<std::string, std::map<std::string, std::string>> fuzz_seeds() {
  std::map<std::string, std::map<std::string, std::string>> seeds;
  const auto add = [&](const std::string& kind, const std::string& name, std::string bytes) {
    if (bytes.size() <= (kind == "library"   ? kLongestLibrary
                         : kind == "archive" ? kLongestArchive
                                             : kLongest))
      seeds[kind].emplace(name, std::move(bytes));
  };
  add("archive", "sound", zip_bytes(sound_entries()));
  add("manifest", "sound", sound_manifest());
  for (const HostileCase& one : archive_cases()) add("archive", one.name, one.bytes());
  for (const HostileCase& one : manifest_cases())
    add("manifest", one.name, manifest_in(one.bytes()));
  add("library", "sound", elf_bytes({.has_hash = true}));
  for (const UnfitLibrary& one : unfit_libraries()) add("library", one.name, elf_bytes(one.elf));

  std::string signable = zip_bytes({}, {.comment = std::string(kSignatureBlockSize, '0')});
  signable.resize(signable.size() - kSignatureBlockSize);
  for (const std::size_t count : {1, 2})
    add("signature", std::to_string(count), with_signatures(count, signable));
  add("signature", "none", signable);
  for (const std::size_t size : {0, 1, 64, 200})
    add("encryption", std::to_string(size), encrypted(std::string(size, 'x')));
  add("encryption", "passphrase", encrypted_by_passphrase());
  const CacheIndex::Entry entry{.size = 7, .last_use = 3};
  add("cache_index", "empty", cache_index_text({}));
  add("cache_index", "two",
      cache_index_text(
          {.entries = {{std::string(64, 'a'), entry}, {std::string(64, 'b'), entry}}}));
  add("voc", "sound", sound_annotations(""));
  add("voc", "latin",
      sound_annotations("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><!--\xE9-->"));
  add("voc", "marked", sound_annotations("\xEF\xBB\xBF"));
  add("voc", "document_type", sound_annotations("<!DOCTYPE a [<!ENTITY b \"c\">]>"));
  add("voc", "no_box", "<annotation><object><name>car</name></object></annotation>");
  add("wire", "nodes", wire_seed(0, message_of(full_nodes())));
  add("wire", "together", wire_seed(1, message_of(std::vector{full_nodes(), full_nodes()})));
  add("wire", "json", wire_seed(2, message_of(*full_nodes()[0].extra_data)));
  BatchStatistics statistics;
  statistics.batch_sizes.add(40, 3);
  add("wire", "statistics", wire_seed(3, message_of(statistics)));
  add("wire", "frame", wire_seed(4, message_of(full_frame())));
  add("wire", "stream", wire_seed(5, message_of(StreamInfo{.id = "gate", .saved = {1, 2}})));
  add("wire", "distances", wire_seed(6, message_of(std::vector<std::vector<float>>{{1, 2}, {}})));
  const InvalidCapsuleError invalid(ErrorCode::invalid_manifest, "what", "lib/a.so");
  add("wire", "error", wire_seed(7, exception_message(std::make_exception_ptr(invalid))));
  const cv::Exception thrown(cv::Error::StsBadSize, "bad size", "resize", "a.cpp", 7);
  add("wire", "opencv", wire_seed(7, exception_message(std::make_exception_ptr(thrown))));
  return seeds;
}

}  // namespace vcap::test
