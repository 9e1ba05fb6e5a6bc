// SPDX-License-Identifier: Apache-2.0
/// @file Everything that a host application needs.
#pragma once

#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/base/version.hpp"
#include "vcap/loading/encrypt_capsule.hpp"
#include "vcap/loading/fetch_resources.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/manifest.hpp"
#include "vcap/loading/package_capsule.hpp"
#include "vcap/loading/sign_capsule.hpp"
#include "vcap/runtime/buffered_sink.hpp"
#include "vcap/runtime/bulk.hpp"
#include "vcap/runtime/frame_feed.hpp"
#include "vcap/runtime/metrics_server.hpp"
#include "vcap/runtime/pipeline.hpp"
#include "vcap/runtime/random_access.hpp"
#include "vcap/runtime/task_queue.hpp"
#include "vcap/runtime/trace.hpp"
