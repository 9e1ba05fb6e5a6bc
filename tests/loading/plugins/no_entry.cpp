// SPDX-License-Identifier: Apache-2.0
// A library that is no plugin.
extern "C" __attribute__((visibility("default"))) int answer() { return 42; }
