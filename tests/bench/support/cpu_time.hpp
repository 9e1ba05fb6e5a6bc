// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap::bench {

/// Processor time of the whole process so far, in seconds.
double cpu_time();

}  // namespace vcap::bench
