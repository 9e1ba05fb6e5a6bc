// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/encrypt_capsule.hpp"

#include "files/output_file.hpp"
#include "loading/crypto/encryption.hpp"
#include "loading/open_capsule.hpp"

namespace vcap {

void encrypt_capsule(const std::string& path, const std::string& output, const EncryptionKey& key,
                     const ArchiveLimits& limits) {
  const AdmittedFile admitted = admit_plain_capsule(
      path, limits, "is encrypted already; encrypt the file that it was made from");
  const OpenedCapsule checked(admitted.archive, admitted.name, limits);

  OutputFile file(output, OutputFile::Target::regular_file);
  EncryptingWriter writer([&file](EncryptingWriter::Bytes bytes) { file.write(bytes); }, key);
  admitted.archive->for_each_block(0, admitted.archive->size(),
                                   [&writer](ByteReader::Bytes bytes) { writer.write(bytes); });
  writer.finish();
  file.commit();
}

}  // namespace vcap
