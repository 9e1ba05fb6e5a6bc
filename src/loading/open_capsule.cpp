// SPDX-License-Identifier: Apache-2.0
#include "loading/open_capsule.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "files/sealed_memory.hpp"
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

/// Reads, and does not map: a file that is truncated meanwhile gives an error here, not SIGBUS.
ReadAt reader_of(const OpenFile& file, const std::string& name) {
  return [&file, &name](std::uint64_t offset, std::span<std::byte> into) {
    while (!into.empty()) {
      const ssize_t count =
          ::pread(file.fd.get(), into.data(), into.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0)
        throw InvalidCapsuleError(
            ErrorCode::not_an_archive,
            name + " cannot be read: " +
                (count < 0 ? std::generic_category().message(errno)
                           : std::string("it was truncated while it was read; load it again")));
      offset += static_cast<std::uint64_t>(count);
      into = into.subspan(static_cast<std::size_t>(count));
    }
  };
}

ReadAt reader_of(Bytes bytes) {
  return [bytes](std::uint64_t offset, std::span<std::byte> into) {
    std::ranges::copy(bytes.subspan(offset, into.size()), into.begin());
  };
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

std::shared_ptr<const MappedFile> sealed_copy(const ReadAt& read, std::uint64_t size,
                                              const ArchiveLimits& limits,
                                              const std::string& name) {
  if (size > limits.total_bytes)
    throw InvalidCapsuleError(ErrorCode::limit_exceeded,
                              name + " has " + std::to_string(size) + " bytes; " +
                                  std::to_string(limits.total_bytes) +
                                  " are allowed (ArchiveLimits::total_bytes)");
  SealedMemory memory(size);
  read(0, memory.bytes());
  return memory.seal();
}

std::shared_ptr<const MappedFile> decrypted(const ReadAt& read, std::uint64_t size,
                                            const LoadOptions& options, const std::string& name) {
  return at_stage(LoadStage::decryption, [&] {
    if (!options.key)
      throw UntrustedCapsuleError(ErrorCode::encrypted_capsule,
                                  name +
                                      " is encrypted; give the key in LoadOptions::key "
                                      "(--key-file or --passphrase-file)");
    return in_memory(
        name, [&] { return decrypt(read, size, *options.key, options.limits.total_bytes, name); });
  });
}

/// Runs the stages on a file whose head is known. `unchecked` returns the file if nothing of it is
/// checked.
template <class Unchecked>
AdmittedFile admitted(Bytes head, const ReadAt& read, std::uint64_t size, std::string name,
                      const LoadOptions& options, Unchecked unchecked) {
  std::shared_ptr<const MappedFile> archive;
  if (is_encrypted(head))
    archive = decrypted(read, size, options, name);
  else if (checks_signatures(options.trust))
    archive = at_stage(LoadStage::trust, [&] {
      return in_memory(name, [&] { return sealed_copy(read, size, options.limits, name); });
    });
  else
    archive = at_stage(LoadStage::open, [&] { return in_memory(name, unchecked); });
  auto signatures = at_stage(
      LoadStage::trust, [&] { return check_signatures(archive->bytes(), options.trust, name); });
  return {
      .name = std::move(name), .archive = std::move(archive), .signatures = std::move(signatures)};
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
  const OpenFile file = at_stage(LoadStage::open, [&] { return open_file(path, name); });
  const ReadAt read = reader_of(file, name);
  std::array<std::byte, kEncryptionHeaderSize> head{};
  const auto known = std::span(head).first(std::min(file.size, head.size()));
  at_stage(LoadStage::open, [&] { read(0, known); });
  return admitted(known, read, file.size, name, options, [&] { return MappedFile::map(file); });
}

AdmittedFile admit_capsule(Bytes bytes, const LoadOptions& options) {
  return admitted(bytes, reader_of(bytes), bytes.size(), "capsule given as bytes", options,
                  [&] { return MappedFile::copy(bytes); });
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
