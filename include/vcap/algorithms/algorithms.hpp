// SPDX-License-Identifier: Apache-2.0
/// @file
/// The whole algorithms layer.
#pragma once

#include "vcap/algorithms/classification_evaluation.hpp"
#include "vcap/algorithms/detection_evaluation.hpp"
#include "vcap/algorithms/distances.hpp"
#include "vcap/algorithms/event.hpp"
#include "vcap/algorithms/event_detector.hpp"
#include "vcap/algorithms/event_rules.hpp"
#include "vcap/algorithms/iou.hpp"
#include "vcap/algorithms/kalman_filter.hpp"
#include "vcap/algorithms/linear_assignment.hpp"
#include "vcap/algorithms/merge_tiles.hpp"
#include "vcap/algorithms/multi_object_tracker.hpp"
#include "vcap/algorithms/non_max_suppression.hpp"
#include "vcap/algorithms/soft_non_max_suppression.hpp"
#include "vcap/algorithms/track_association.hpp"
#include "vcap/algorithms/tracking_evaluation.hpp"
