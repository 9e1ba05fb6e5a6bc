// SPDX-License-Identifier: Apache-2.0
/// @file The whole image layer.
#pragma once
