// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vcap::detail {

/// Sets, for its lifetime, that this thread sends requests outside any BatchStreamScope. For a
/// leader: the batch that it predicts belongs to all streams, not to that of its own call. Thread
/// safety: thread-compatible.
class NoBatchStream {
 public:
  NoBatchStream() noexcept;
  ~NoBatchStream();
  NoBatchStream(const NoBatchStream&) = delete;
  NoBatchStream& operator=(const NoBatchStream&) = delete;

 private:
  const std::uint64_t outer_;
};

}  // namespace vcap::detail
