// SPDX-License-Identifier: Apache-2.0
#include "loading/open_capsule.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "files/sealed_memory.hpp"
#include "loading/archive/signature_block.hpp"
#include "loading/crypto/encryption.hpp"
#include "loading/crypto/encryption_header.hpp"
#include "loading/load_stage.hpp"
#include "loading/trust.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using Bytes = std::span<const std::byte>;

OpenFile open_file(const std::filesystem::path& path, const std::string& name) {
  try {
    return open_regular_file(path);
  } catch (const std::system_error& error) {
    const int code = error.code().value();
    if (code == EISDIR || code == ENOTSUP)
      throw InvalidCapsuleError(ErrorCode::not_an_archive,
                                name + " is a folder or a device; give a .cap file");
    throw InvalidCapsuleError(ErrorCode::capsule_not_found,
                              name + " cannot be opened: " + error.code().message() +
                                  "; check the path and its permissions");
  }
}

/// Calls what needs memory; the error names the capsule if memory is short.
template <class Call>
auto in_memory(const std::string& name, Call call) {
  try {
    return call();
  } catch (const std::system_error& error) {
    throw CapsuleLoadError(ErrorCode::limit_exceeded,
                           name + " cannot be held in memory: " + error.code().message());
  }
}

void check_total_size(const ByteReader& file, const ArchiveLimits& limits,
                      const std::string& name) {
  if (file.size() > limits.total_bytes)
    throw InvalidCapsuleError(ErrorCode::limit_exceeded,
                              name + " has " + std::to_string(file.size()) + " bytes; " +
                                  std::to_string(limits.total_bytes) +
                                  " are allowed (ArchiveLimits::total_bytes)");
}

std::shared_ptr<const MappedFile> sealed_copy(const ByteReader& file) {
  SealedMemory memory("vcap-capsule");
  file.for_each_block(0, file.size(), [&memory](ByteReader::Bytes block) { memory.append(block); });
  return memory.seal();
}

/// A copy whose signatures were checked. Requires that one of them can count.
AdmittedFile checked_copy(const ByteReader& file, const LoadOptions& options,
                          const std::string& name) {
  check_total_size(file, options.limits, name);
  // A forger can name a trusted key. So a file is copied before its digest is known only if that
  // takes little memory; to read a larger one twice costs time, but no memory.
  constexpr std::uint64_t kCopiedAtOnce = std::uint64_t{32} << 20;
  if (file.size() > kCopiedAtOnce) static_cast<void>(check_signatures(file, options.trust, name));
  auto copy =
      std::make_shared<const ByteReader>(in_memory(name, [&] { return sealed_copy(file); }), name);
  // What was copied is what counts: the file may have changed since it was checked.
  auto signatures = check_signatures(*copy, options.trust, name);
  return {.name = name, .archive = std::move(copy), .signatures = std::move(signatures)};
}

/// The signatures of a file of which none counts. Reads the whole file if the policy checks them.
std::vector<CapsuleSignature> uncounted(const ByteReader& file, const LoadOptions& options,
                                        const std::string& name) {
  if (read_block_at_end(file)) check_total_size(file, options.limits, name);
  return check_signatures(file, options.trust, name);
}

std::shared_ptr<const ByteReader> decrypted(const ByteReader& file, const LoadOptions& options,
                                            const std::string& name) {
  return at_stage(LoadStage::decryption, [&] {
    if (!options.key)
      throw UntrustedCapsuleError(ErrorCode::encrypted_capsule,
                                  name +
                                      " is encrypted; give the key in LoadOptions::key "
                                      "(--key-file or --passphrase-file)");
    const ReadAt read = [&file](std::uint64_t offset, std::span<std::byte> into) {
      file.read(offset, into);
    };
    auto plain = in_memory(name, [&] {
      return decrypt(read, file.size(), *options.key, options.limits.total_bytes, name);
    });
    return std::make_shared<const ByteReader>(std::move(plain), name);
  });
}

/// Whether its first bytes are those of an encrypted capsule.
bool begins_encrypted(const ByteReader& file) {
  std::array<std::byte, kEncryptionHeaderSize> head{};
  const auto known = std::span(head).first(std::min<std::uint64_t>(file.size(), head.size()));
  file.read(0, known);
  return is_encrypted(known);
}

/// Runs the stages on a file or on bytes.
AdmittedFile admitted(std::shared_ptr<const ByteReader> file, const std::string& name,
                      const LoadOptions& options) {
  AdmittedFile result{.name = name, .archive = std::move(file)};
  const auto at_trust = [](auto call) { return at_stage(LoadStage::trust, call); };
  if (at_stage(LoadStage::open, [&] { return begins_encrypted(*result.archive); })) {
    result.archive = decrypted(*result.archive, options, name);
    result.signatures =
        at_trust([&] { return check_signatures(*result.archive, options.trust, name); });
  } else {
    bool counts = at_trust([&] { return check_signers(*result.archive, options.trust, name); });
    if (!counts) {
      result.signatures = at_trust([&] { return uncounted(*result.archive, options, name); });
      counts = has_valid_one(result.signatures);  // if the file has changed meanwhile
    }
    if (counts)
      result = at_trust([&] { return checked_copy(*result.archive, options, name); });
    else  // Bytes of the caller, who may change them; a file is mapped when it is used.
      at_stage(LoadStage::open, [&] { result.archive->keep(); });
  }
  log_acceptance(result.signatures, name);
  return result;
}

OpenedCapsule opened(AdmittedFile file, const LoadOptions& options) {
  OpenedCapsule capsule(std::move(file.archive), std::move(file.name), options.limits);
  at_stage(LoadStage::trust,
           [&] { check_minimum_version(capsule.manifest().info, options.trust, capsule.name()); });
  return capsule;
}

}  // namespace

AdmittedFile admit_capsule(const std::filesystem::path& path, const LoadOptions& options) {
  const std::string name = "capsule file " + quote(path.native());
  OpenFile file = at_stage(LoadStage::open, [&] { return open_file(path, name); });
  return admitted(std::make_shared<const ByteReader>(std::move(file), name), name, options);
}

AdmittedFile admit_capsule(Bytes bytes, const LoadOptions& options) {
  const std::string name = "capsule given as bytes";
  return admitted(std::make_shared<const ByteReader>(bytes, name), name, options);
}

AdmittedFile admit_plain_capsule(const std::filesystem::path& path, const ArchiveLimits& limits,
                                 const std::string& fault) {
  try {
    return admit_capsule(path, options_with(limits));
  } catch (const UntrustedCapsuleError& error) {
    if (error.code() != ErrorCode::encrypted_capsule) throw;
    throw UntrustedCapsuleError(ErrorCode::encrypted_capsule,
                                "capsule file " + quote(path.native()) + " " + fault);
  }
}

OpenedCapsule open_capsule(const std::filesystem::path& path, const LoadOptions& options) {
  return opened(admit_capsule(path, options), options);
}

OpenedCapsule open_capsule(Bytes bytes, const LoadOptions& options) {
  return opened(admit_capsule(bytes, options), options);
}

LoadOptions options_with(const ArchiveLimits& limits) {
  LoadOptions options;
  options.limits = limits;
  return options;
}

}  // namespace vcap
