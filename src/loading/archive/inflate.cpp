// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/inflate.hpp"

#include <libdeflate.h>

#include <memory>
#include <new>

namespace vcap {

Inflated inflate(std::span<const std::byte> packed, std::span<std::byte> output) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)>
      decompressor(libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (decompressor == nullptr) throw std::bad_alloc();
  Inflated result;
  switch (libdeflate_deflate_decompress_ex(decompressor.get(), packed.data(), packed.size(),
                                           output.data(), output.size(), &result.consumed,
                                           &result.size)) {
    case LIBDEFLATE_SUCCESS:
      return result;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      return {.fault = "unpacks to more than the " + std::to_string(output.size()) +
                       " bytes that it declares"};
    default:
      return {.fault = "cannot be unpacked: its data is not a complete deflate stream"};
  }
}

}  // namespace vcap
