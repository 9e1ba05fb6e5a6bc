// SPDX-License-Identifier: Apache-2.0
/// @file
/// Everything that a capsule author needs.
#pragma once

#include <nlohmann/json.hpp>

#include "vcap/algorithms/algorithms.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/capsule/base_backend.hpp"
#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/plugin.hpp"
#include "vcap/image/image.hpp"
