// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::bench {

/// The time of a report of records, to that of reading them.
double report_to_reading();

}  // namespace vcap::bench
