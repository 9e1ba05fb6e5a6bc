// SPDX-License-Identifier: Apache-2.0
#include "loading/crypto/encryption.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "files/bytes.hpp"
#include "files/sealed_memory.hpp"
#include "loading/crypto/encryption_header.hpp"
#include "loading/crypto/encryption_secret.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

/// A stream's state, which contains the key; zeroed when destroyed.
struct SecretStream {
  crypto_secretstream_xchacha20poly1305_state state{};

  SecretStream() = default;
  SecretStream(const SecretStream&) = delete;
  SecretStream& operator=(const SecretStream&) = delete;
  ~SecretStream() { ::sodium_memzero(&state, sizeof state); }
};

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kOverhead = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr unsigned char kTagMessage = crypto_secretstream_xchacha20poly1305_TAG_MESSAGE;
constexpr unsigned char kTagFinal = crypto_secretstream_xchacha20poly1305_TAG_FINAL;
static_assert(EncryptionKey::kSize == crypto_secretstream_xchacha20poly1305_KEYBYTES);
static_assert(sizeof(EncryptionHeader::salt) == crypto_pwhash_SALTBYTES);
static_assert(sizeof(EncryptionHeader::stream_header) ==
              crypto_secretstream_xchacha20poly1305_HEADERBYTES);

/// The stream's key: the raw key, or the one that Argon2id derives from the passphrase. Throws
/// std::bad_alloc.
SecretBytes stream_key(const EncryptionKey& key, const EncryptionHeader& header) {
  const SecretBytes& secret = key.secret().bytes;
  SecretBytes result(EncryptionKey::kSize);
  if (!key.is_passphrase()) {
    std::ranges::copy(secret.bytes(), result.bytes().begin());
  } else if (::crypto_pwhash(
                 result.data(), result.size(), reinterpret_cast<const char*>(secret.data()),
                 secret.size(), unsigned_data(header.salt), header.passes,
                 std::size_t{header.memory_kib} << 10, crypto_pwhash_ALG_ARGON2ID13) != 0) {
    throw std::bad_alloc();
  }
  return result;
}

/// Decrypts the chunks of one file in order.
class Decryption {
 public:
  Decryption(const ReadAt& read, std::uint64_t size, const std::string& capsule)
      : read_(read),
        capsule_(capsule),
        head_(std::min<std::uint64_t>(size, kEncryptionHeaderSize)) {
    read_(0, head_);
    header_ = read_encryption_header(head_, capsule);
    const std::uint64_t packed = size - kEncryptionHeaderSize;
    const std::uint64_t stride = header_.chunk_size + kOverhead;
    chunks_ = packed / stride + (packed % stride != 0 ? 1 : 0);
    last_size_ = chunks_ == 0 ? 0 : packed - (chunks_ - 1) * stride;
    if (last_size_ < kOverhead) damaged("is cut short");
    plain_size_ = packed - chunks_ * kOverhead;
    buffer_.resize(std::min(stride, packed));
  }

  std::uint64_t plain_size() const noexcept { return plain_size_; }
  std::uint64_t chunks() const noexcept { return chunks_; }
  std::size_t plain_size_of(std::uint64_t chunk) const noexcept {
    return chunk + 1 == chunks_ ? last_size_ - kOverhead : header_.chunk_size;
  }

  void unlock(const EncryptionKey& key) {
    check_kind(key);
    try {
      const SecretBytes stream = stream_key(key, header_);
      if (::crypto_secretstream_xchacha20poly1305_init_pull(
              &stream_.state, unsigned_data(header_.stream_header), stream.data()) != 0)
        damaged("has a damaged encryption header");
    } catch (const std::bad_alloc&) {
      throw CapsuleLoadError(ErrorCode::limit_exceeded,
                             capsule_ +
                                 " is encrypted with a passphrase, for which Argon2id needs " +
                                 std::to_string(header_.memory_kib >> 10) +
                                 " MiB of memory, which this process cannot allocate");
    }
  }

  /// Decrypts the next chunk, number `chunk`, into a span of its plain size.
  void pull(std::uint64_t chunk, std::span<std::byte> into) {
    const std::uint64_t stride = header_.chunk_size + kOverhead;
    const auto packed = std::span(buffer_).first(into.size() + kOverhead);
    read_(kEncryptionHeaderSize + chunk * stride, packed);
    const Bytes header = chunk == 0 ? Bytes(head_) : Bytes();
    unsigned char tag = 0;
    if (::crypto_secretstream_xchacha20poly1305_pull(&stream_.state, writable_data(into), nullptr,
                                                     &tag, unsigned_data(packed), packed.size(),
                                                     unsigned_data(header), header.size()) != 0) {
      if (chunk == 0)
        wrong_key("the key does not decrypt it: it is the wrong key, or the first " +
                  std::to_string(head_.size() + packed.size()) + " bytes of the file were changed");
      damaged("was changed, cut short or joined from parts, at chunk " + std::to_string(chunk + 1) +
              " of " + std::to_string(chunks_));
    }
    const bool is_last = chunk + 1 == chunks_;
    if (is_last && tag != kTagFinal) damaged("is cut short after a complete chunk");
    if (!is_last && tag != kTagMessage) damaged("continues after its last chunk");
  }

 private:
  [[noreturn]] void damaged(const std::string& fault) const {
    throw UntrustedCapsuleError(ErrorCode::damaged_encryption,
                                capsule_ + " is encrypted, and " + fault + "; get the file again");
  }
  [[noreturn]] void wrong_key(const std::string& fault) const {
    throw UntrustedCapsuleError(ErrorCode::wrong_key, capsule_ + " is encrypted, and " + fault);
  }
  void check_kind(const EncryptionKey& key) const {
    const bool wants_passphrase = header_.mode == EncryptionHeader::Mode::passphrase;
    if (wants_passphrase == key.is_passphrase()) return;
    wrong_key(wants_passphrase
                  ? "it takes a passphrase, but a key is given; use EncryptionKey::from_passphrase "
                    "(--passphrase-file)"
                  : "it takes a key, but a passphrase is given; use EncryptionKey::from_file "
                    "(--key-file)");
  }

  const ReadAt& read_;
  const std::string& capsule_;
  std::vector<std::byte> head_;
  EncryptionHeader header_;
  SecretStream stream_;
  std::vector<std::byte> buffer_;
  std::uint64_t chunks_ = 0;
  std::uint64_t last_size_ = 0;  ///< of the last chunk, encrypted
  std::uint64_t plain_size_ = 0;
};

}  // namespace

EncryptingWriter::EncryptingWriter(Sink sink, const EncryptionKey& key,
                                   const EncryptionSettings& settings)
    : sink_(std::move(sink)),
      stream_(std::make_unique<SecretStream>()),
      chunk_size_(settings.chunk_size) {
  init_sodium();
  EncryptionHeader header{.chunk_size = settings.chunk_size};
  if (key.is_passphrase()) {
    header.mode = EncryptionHeader::Mode::passphrase;
    header.passes = settings.passes;
    header.memory_kib = settings.memory_kib;
    ::randombytes_buf(header.salt.data(), header.salt.size());
  }
  const SecretBytes stream = stream_key(key, header);
  ::crypto_secretstream_xchacha20poly1305_init_push(
      &stream_->state, writable_data(header.stream_header), stream.data());
  const auto bytes = encryption_header_bytes(header);
  header_.assign(bytes.begin(), bytes.end());
  sink_(bytes);
}

EncryptingWriter::~EncryptingWriter() = default;

void EncryptingWriter::write(Bytes bytes) {
  while (!bytes.empty()) {
    // A full chunk waits until more bytes come: it may be the last one, which gets a mark.
    if (waiting_.size() == chunk_size_) {
      push(waiting_, false);
      waiting_.clear();
    }
    const Bytes part = bytes.first(std::min(bytes.size(), chunk_size_ - waiting_.size()));
    waiting_.insert(waiting_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
  }
}

void EncryptingWriter::finish() { push(waiting_, true); }

void EncryptingWriter::push(Bytes chunk, bool is_last) {
  packed_.resize(chunk.size() + kOverhead);
  ::crypto_secretstream_xchacha20poly1305_push(
      &stream_->state, writable_data(packed_), nullptr, unsigned_data(chunk), chunk.size(),
      unsigned_data(header_), header_.size(), is_last ? kTagFinal : kTagMessage);
  header_.clear();
  sink_(packed_);
}

std::shared_ptr<const MappedFile> decrypt(const ReadAt& read, std::uint64_t size,
                                          const EncryptionKey& key, std::uint64_t max_bytes,
                                          const std::string& capsule) {
  init_sodium();
  Decryption decryption(read, size, capsule);
  if (decryption.plain_size() > max_bytes)
    throw InvalidCapsuleError(ErrorCode::limit_exceeded,
                              capsule + " has " + std::to_string(decryption.plain_size()) +
                                  " bytes when decrypted; " + std::to_string(max_bytes) +
                                  " are allowed (ArchiveLimits::total_bytes)");
  decryption.unlock(key);
  std::vector<std::byte> first(decryption.plain_size_of(0));
  decryption.pull(0, first);

  // Grows with the chunks that the key has authenticated: a file with a copied beginning and any
  // length costs no more memory than its genuine part.
  SealedMemory memory("vcap-capsule");
  memory.append(first);
  std::vector<std::byte> plain;
  for (std::uint64_t chunk = 1; chunk < decryption.chunks(); ++chunk) {
    plain.resize(decryption.plain_size_of(chunk));
    decryption.pull(chunk, plain);
    memory.append(plain);
  }
  return memory.seal();
}

}  // namespace vcap
