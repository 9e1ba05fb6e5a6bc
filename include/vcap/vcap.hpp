// SPDX-License-Identifier: Apache-2.0
/// @file
/// Everything for a host that runs capsules on videos: the library vcap::vcap.
#pragma once

#include "vcap/core.hpp"
#include "vcap/jobs/bulk.hpp"
#include "vcap/jobs/task_queue.hpp"
#include "vcap/observe/trace.hpp"
#include "vcap/pipeline/metrics_server.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/records/buffered_sink.hpp"
#include "vcap/sources/frame_feed.hpp"
#include "vcap/sources/random_access.hpp"
