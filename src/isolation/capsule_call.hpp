// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vcap {

/// What a host asks the code of a capsule that is elsewhere. A request has this, the CallContext
/// and the arguments; an answer has whether it is an exception, and then that or the result.
enum class CapsuleCall : std::uint8_t {
  configure,
  map_devices,
  fetch_resources,
  load_backend,
  drop_author,
  set_batch_sizes,
  setup_with_resources,
  process_frame,
  process_frames,
  process_window,
  process_windows,
  distances,
  workload,
  batch_statistics,
  drain,
  close,
  drop_backend,
  make_state,
  make_parameters,
  save_state,
  drop_state,
};
inline constexpr CapsuleCall kLastCapsuleCall = CapsuleCall::drop_state;

/// What that code tells the host between answers.
enum class CapsuleNotice : std::uint8_t {
  batch_begun,  ///< number of the observer, of the batch, and of its items
  batch_ended,  ///< number of the batch
};
inline constexpr CapsuleNotice kLastCapsuleNotice = CapsuleNotice::batch_ended;

/// The number of an object that is on the other side; 0: there is none.
using WireId = std::uint64_t;

}  // namespace vcap
