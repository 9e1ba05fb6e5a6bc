// SPDX-License-Identifier: Apache-2.0
#include "view/pixels.hpp"

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "support/figures.hpp"
#include "support/quantile.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/view/live_view.hpp"
#include "view/browser/browser.hpp"
#include "view/paced_feed.hpp"

namespace vcap::bench {
namespace {

constexpr int kBits = 20;  // of milliseconds: 17 minutes
constexpr int kWidthOfBit = 64;

/// Vertical stripes, white for a bit that is set; the lowest bit is at the left.
cv::Mat picture_of(std::int64_t number) {
  cv::Mat image(720, kBits * kWidthOfBit, CV_8UC3, cv::Scalar::all(0));
  for (int bit = 0; bit < kBits; ++bit)
    if ((number >> bit & 1) != 0)
      image.colRange(bit * kWidthOfBit, (bit + 1) * kWidthOfBit).setTo(cv::Scalar::all(255));
  return image;
}

cv::Mat picture_of_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return picture_of(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

/// Looks at the canvas before each frame of the browser, and notes the age of each new picture.
constexpr const char* kReadPixels = R"(
  const [bits, seconds] = arguments;
  const ages = [];
  let last = -1;
  return new Promise((resolve) => {
    const end = Date.now() + 1000 * seconds;
    const look = () => {
      const canvas = document.querySelector('#stream canvas');
      const {data} = canvas.getContext('2d').getImageData(0, canvas.height >> 1, canvas.width, 1);
      const now = Date.now();
      let time = 0;
      for (let bit = 0; bit < bits; ++bit)
        if (data[4 * Math.floor((bit + 0.5) * canvas.width / bits)] > 127) time += 2 ** bit;
      if (time !== last && last >= 0) ages.push((now - time) % 2 ** bits);
      last = time;
      if (now < end) requestAnimationFrame(look); else resolve(ages);
    };
    look();
  });)";

}  // namespace

double milliseconds_to_pixels() {
  Pipeline pipeline({});
  const LiveView view(pipeline, {});
  PacedFeed clock([](std::int64_t) { return picture_of_now(); });
  pipeline.open_stream({.id = "gate", .source = clock.source(), .sinks = {view.sink()}});
  const test::Browser browser;
  browser.open("http://127.0.0.1:" + std::to_string(view.port()) + "/#/stream/gate");
  browser.wait_until("document.querySelector('#stream canvas').dataset.pictures > 5");
  const std::vector<double> ages = browser.run(kReadPixels, {kBits, workload(20, 1)});
  if (ages.size() < workload<std::size_t>(100, 1))
    throw std::runtime_error("the browser showed only " + std::to_string(ages.size()) +
                             " pictures");
  pipeline.stop();
  return quantile(ages, 0.95);
}

}  // namespace vcap::bench
