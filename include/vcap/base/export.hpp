// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks the symbols that the shared library `vcap` exports to hosts and capsules; all others are
/// hidden.
#define VCAP_EXPORT __attribute__((visibility("default")))

/// Hides a class inside an exported one: only the library itself uses it.
#define VCAP_LOCAL __attribute__((visibility("hidden")))
