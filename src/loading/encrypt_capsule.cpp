// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/encrypt_capsule.hpp"

#include "base/text.hpp"
#include "loading/encryption.hpp"
#include "loading/open_capsule.hpp"
#include "loading/staged_output.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

void encrypt_capsule(const std::filesystem::path& path, const std::filesystem::path& output,
                     const EncryptionKey& key, const Limits& limits) {
  AdmittedFile admitted;
  try {
    admitted = admit_capsule(path, options_with(limits));
  } catch (const UntrustedCapsuleError& error) {
    if (error.code() != ErrorCode::encrypted_capsule) throw;
    throw UntrustedCapsuleError(ErrorCode::encrypted_capsule,
                                "capsule file " + quote(path.native()) +
                                    " is encrypted already; encrypt what it was made of");
  }
  const OpenedCapsule checked(admitted.archive, admitted.name, limits);

  StagedFile file(output);
  EncryptingWriter writer([&file](EncryptingWriter::Bytes bytes) { file.write(bytes); }, key);
  writer.write(admitted.archive->bytes());
  writer.finish();
  file.commit();
}

}  // namespace vcap
