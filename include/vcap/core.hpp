// SPDX-License-Identifier: Apache-2.0
/// @file
/// Everything for a host that loads capsules and has its own frames: the library vcap::core.
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
