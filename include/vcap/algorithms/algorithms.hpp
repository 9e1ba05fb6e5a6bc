// SPDX-License-Identifier: Apache-2.0
/// @file The whole algorithms layer.
#pragma once
