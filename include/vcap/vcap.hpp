// SPDX-License-Identifier: Apache-2.0
/// @file
/// Everything for a host that runs capsules on videos: the library vcap::vcap. Jobs over many
/// videos have a header of their own, <vcap/jobs/bulk.hpp>.
#pragma once

#include "vcap/core.hpp"
#include "vcap/observe/trace.hpp"
#include "vcap/pipeline/metrics_server.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/records/buffered_sink.hpp"
#include "vcap/sources/frame_feed.hpp"
#include "vcap/sources/random_access.hpp"
