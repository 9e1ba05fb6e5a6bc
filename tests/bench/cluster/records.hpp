// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::bench {

/// What a record costs a worker, in microseconds.
struct RecordCost {
  double stream_thread = 0;  ///< time of the thread that adds it, with its writes to the spool
  double process = 0;        ///< processor time of the process until the broker has it
};

/// Sends the records of several streams to a broker, in batches.
RecordCost record_cost();

}  // namespace vcap::bench
