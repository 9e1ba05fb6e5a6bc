// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "support/figures.hpp"

/// The parts of batching_bench. Each has its own source file and gives its lines of the table.
namespace vcap::bench::batching {

/// 1 and 2: the processor time of a request.
std::vector<Figure> request_cost();
/// 3: the fill of batches without tuning.
std::vector<Figure> batch_efficiency();
/// 4: the round trip of one caller; an idle executor.
std::vector<Figure> waiting();
/// 5: the accuracy of max_queue_delay.
std::vector<Figure> delay_accuracy();
/// 6: streams that send few requests, beside one that sends many.
std::vector<Figure> fairness();
/// 7: requests that fail.
std::vector<Figure> failures();
/// 8: more requests than the device can process; close(); statistics.
std::vector<Figure> overload();
std::vector<Figure> closing();
std::vector<Figure> statistics();
/// 9: many streams, many callers.
std::vector<Figure> scale();

}  // namespace vcap::bench::batching
