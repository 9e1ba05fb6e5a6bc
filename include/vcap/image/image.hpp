// SPDX-License-Identifier: Apache-2.0
/// @file
/// The whole image layer.
#pragma once

#include "vcap/image/background_model.hpp"
#include "vcap/image/clamp.hpp"
#include "vcap/image/crop.hpp"
#include "vcap/image/draw_nodes.hpp"
#include "vcap/image/height_model.hpp"
#include "vcap/image/moving_people_detector.hpp"
#include "vcap/image/people_crops.hpp"
#include "vcap/image/picture_map.hpp"
#include "vcap/image/resize.hpp"
#include "vcap/image/silhouette_fit.hpp"
#include "vcap/image/size_filter.hpp"
#include "vcap/image/tiling.hpp"
