// SPDX-License-Identifier: Apache-2.0
#include "jobs/task_queue_conformance.hpp"

namespace vcap::test {

INSTANTIATE_TEST_SUITE_P(InProcess, TaskQueueConformance,
                         testing::Values(QueueKind{"in_process", &make_in_process_queue}));

}  // namespace vcap::test
