// SPDX-License-Identifier: Apache-2.0
#include "start/brightness.hpp"

extern "C" __attribute__((visibility("default"))) double brightness(const cv::Mat& picture);
double brightness(const cv::Mat& picture) { return vcap::bench::start::brightness(picture); }
