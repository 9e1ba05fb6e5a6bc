// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what the shared library `vcap` offers to hosts and capsules; all else is hidden.
#define VCAP_EXPORT __attribute__((visibility("default")))
