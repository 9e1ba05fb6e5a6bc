// SPDX-License-Identifier: Apache-2.0
/// @file Everything that a host application needs.
#pragma once

#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/base/version.hpp"
#include "vcap/jobs/bulk.hpp"
#include "vcap/jobs/task_queue.hpp"
#include "vcap/loading/encrypt_capsule.hpp"
#include "vcap/loading/fetch_resources.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/manifest.hpp"
#include "vcap/loading/package_capsule.hpp"
#include "vcap/loading/sign_capsule.hpp"
#include "vcap/observe/trace.hpp"
#include "vcap/pipeline/metrics_server.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/records/buffered_sink.hpp"
#include "vcap/sources/frame_feed.hpp"
#include "vcap/sources/random_access.hpp"
