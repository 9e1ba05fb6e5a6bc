// SPDX-License-Identifier: Apache-2.0
// Reads the index of the resource cache. If it is accepted, writing and reading it again gives the
// same.
#include <cstdlib>
#include <string>

#include "fuzz/fuzz.hpp"
#include "loading/resources/cache_index.hpp"

FUZZ(bytes) {
  vcap::CacheIndex index = vcap::read_cache_index(bytes);
  const std::string text = vcap::cache_index_text(index);
  if (vcap::read_cache_index(std::as_bytes(std::span(text))) != index) std::abort();
  if (index.oldest_first().size() != index.entries.size()) std::abort();
  // A use can always be recorded, and is then the latest.
  const std::string used(64, 'f');
  index.use(used, 1, 0);
  if (index.oldest_first().back() != used) std::abort();
}
