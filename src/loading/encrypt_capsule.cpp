// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/encrypt_capsule.hpp"

#include "loading/encryption.hpp"
#include "loading/open_capsule.hpp"
#include "loading/staged_output.hpp"

namespace vcap {

void encrypt_capsule(const std::filesystem::path& path, const std::filesystem::path& output,
                     const EncryptionKey& key, const Limits& limits) {
  const AdmittedFile admitted =
      admit_plain_capsule(path, limits, "is encrypted already; encrypt what it was made of");
  const OpenedCapsule checked(admitted.archive, admitted.name, limits);

  StagedFile file(output);
  EncryptingWriter writer([&file](EncryptingWriter::Bytes bytes) { file.write(bytes); }, key);
  writer.write(admitted.archive->bytes());
  writer.finish();
  file.commit();
}

}  // namespace vcap
