// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "vcap/records/sink.hpp"

namespace vcap::cli {

/// Writes one line for each frame to standard output, for people who watch a run:
/// `yard frame 120 (0:04.800): 2 person, 1 car; 1 error: …`. Its write() throws OutputError if
/// standard output fails. Thread-safe, since all streams share it.
std::shared_ptr<Sink> make_frame_lines_sink();

}  // namespace vcap::cli
