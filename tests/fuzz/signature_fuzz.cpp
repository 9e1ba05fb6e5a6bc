// SPDX-License-Identifier: Apache-2.0
// Finds the signatures of a file. Writing the found ones gives the same bytes, unless the checksum
// is wrong.
#include <algorithm>
#include <cstdlib>

#include "files/digest.hpp"
#include "fuzz/fuzz.hpp"
#include "loading/archive/signature_block.hpp"

FUZZ(bytes) {
  const auto file = vcap::read_signed_file(bytes);
  if (!file) return;
  if (file->content.size() + vcap::kSignatureBlockSize != bytes.size()) std::abort();
  const auto block = bytes.last(vcap::kSignatureBlockSize);
  const std::string digest = vcap::sha256(file->content);
  const auto written = vcap::signature_block_bytes(file->block.slots, digest);
  const std::size_t checksum = written.size() - file->block.checksum.size();
  if (!std::ranges::equal(block.first(checksum), std::span(written).first(checksum))) std::abort();
  if (vcap::has_right_checksum(file->block, digest) != std::ranges::equal(block, written))
    std::abort();
}
