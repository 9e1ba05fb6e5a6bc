// SPDX-License-Identifier: Apache-2.0
/// @file
/// Everything for a host that runs capsules on videos: the library vcap::vcap. Jobs over many
/// videos have a header of their own, <vcap/jobs/bulk.hpp>.
#pragma once

#include "vcap/core.hpp"
#include "vcap/image/blur_annotator.hpp"
#include "vcap/image/box_annotator.hpp"
#include "vcap/image/counter_annotator.hpp"
#include "vcap/image/draw_nodes.hpp"
#include "vcap/image/heat_map_annotator.hpp"
#include "vcap/image/keypoint_annotator.hpp"
#include "vcap/image/label_annotator.hpp"
#include "vcap/image/label_map_annotator.hpp"
#include "vcap/image/make_annotators.hpp"
#include "vcap/image/mask_annotator.hpp"
#include "vcap/image/pixelate_annotator.hpp"
#include "vcap/image/polygon_annotator.hpp"
#include "vcap/image/trail_annotator.hpp"
#include "vcap/image/zone_annotator.hpp"
#include "vcap/observe/trace.hpp"
#include "vcap/pipeline/metrics_server.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/records/buffered_sink.hpp"
#include "vcap/records/export_sinks.hpp"
#include "vcap/records/record_reader.hpp"
#include "vcap/sources/frame_feed.hpp"
#include "vcap/sources/random_access.hpp"
