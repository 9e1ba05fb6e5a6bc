// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "vcap/algorithms/iou.hpp"
#include "vcap/algorithms/multi_object_tracker.hpp"

// Simulated scenes: people whose positions are known at every time, a detector with typical
// errors, and a score of a tracker's results.

namespace vcap::scenes {

/// A person who walks straight on, with a known box at every time.
struct Person {
  double x = 0, y = 0;              ///< position of the feet in pixels at time 0
  double speed_x = 0, speed_y = 0;  ///< in pixels per second
  double height = 100;
  double from = 0, until = 1e9;  ///< time in the picture, in seconds
  std::vector<float> looks{};    ///< an encoding of length 1, or empty

  bool is_there(double t) const { return t >= from && t <= until; }
  BoundingBox box(double t) const {
    const double cx = x + speed_x * t, feet = y + speed_y * t, width = 0.4 * height;
    return {cx - width / 2, feet - height, cx + width / 2, feet};
  }
};

/// A detector's errors.
struct Detector {
  double misses = 0;              ///< share of visible people that it misses
  double trembling = 0.02;        ///< standard deviation of each side, as a share of the height
  double false_per_frame = 0;     ///< mean number of boxes without a person
  double covered_confidence = 0;  ///< confidence of people who are half covered; 0: not found
  double looks_noise = 0.05;      ///< standard deviation of each element of an encoding
  /// The time at which no person is found, in seconds, such as behind a wall or in the dark.
  std::optional<std::pair<double, double>> blind{};
};

/// The share of `box` that the person in front covers.
inline double covered_share(const BoundingBox& box, const BoundingBox& front) {
  const double width = std::min(box.x2, front.x2) - std::max(box.x1, front.x1);
  const double height = std::min(box.y2, front.y2) - std::max(box.y1, front.y1);
  return width > 0 && height > 0 ? width * height / box.area() : 0;
}

inline std::vector<TrackedDetection> detect(const std::vector<Person>& people, double t,
                                            const Detector& detector, std::mt19937& engine) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<TrackedDetection> found;
  if (detector.blind && t > detector.blind->first && t < detector.blind->second) return found;
  for (const Person& person : people) {
    if (!person.is_there(t)) continue;
    const BoundingBox box = person.box(t);
    const bool is_covered = std::ranges::any_of(people, [&](const Person& other) {
      return &other != &person && other.is_there(t) && other.box(t).y2 > box.y2 &&
             covered_share(box, other.box(t)) > 0.5;
    });
    const double confidence = is_covered ? detector.covered_confidence : 0.6 + 0.39 * share(engine);
    const auto side = [&](double place) {
      return place + detector.trembling * person.height * normal(engine);
    };
    TrackedDetection detection{.box = {side(box.x1), side(box.y1), side(box.x2), side(box.y2)},
                               .confidence = confidence};
    if (!person.looks.empty()) {
      detection.encoding = person.looks;
      for (float& x : *detection.encoding)
        x += static_cast<float>(detector.looks_noise * normal(engine));
    }
    if (share(engine) >= detector.misses && confidence > 0) found.push_back(std::move(detection));
  }
  std::poisson_distribution<int> false_ones(detector.false_per_frame);
  const int count = detector.false_per_frame > 0 ? false_ones(engine) : 0;
  for (int i = 0; i < count; ++i) {
    const double x = 1200 * share(engine), y = 500 * share(engine),
                 height = 60 + 100 * share(engine);
    found.push_back(
        {.box = {x, y, x + 0.4 * height, y + height}, .confidence = 0.3 + 0.4 * share(engine)});
    if (!people.empty() && !people[0].looks.empty()) {
      found.back().encoding = std::vector<float>(people[0].looks.size());
      for (float& x_i : *found.back().encoding) x_i = static_cast<float>(normal(engine));
    }
  }
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, engine);
  std::vector<TrackedDetection> shuffled;
  for (const std::size_t i : order) shuffled.push_back(found[i]);
  return shuffled;
}

/// Compares a tracker's results with the scene.
struct Score {
  int boxes = 0;    ///< number of people's boxes over all frames
  int covered = 0;  ///< number of these with a track's box on them
  int false_boxes = 0;
  int switches = 0;  ///< how often a person's id changed
  std::size_t ids = 0;

  double coverage() const { return static_cast<double>(covered) / boxes; }
  Score& operator+=(const Score& other) {
    boxes += other.boxes;
    covered += other.covered;
    false_boxes += other.false_boxes;
    switches += other.switches;
    ids += other.ids;
    return *this;
  }
};

/// Scores frames in their order.
class Scorer {
 public:
  void add(const std::vector<Person>& people, double t, const MultiObjectTracker::Result& result) {
    std::vector<std::pair<Uuid, BoundingBox>> given;
    for (const auto& found : result.found)
      if (found.id) given.emplace_back(*found.id, found.box);
    for (const auto& predicted : result.predicted) given.emplace_back(predicted.id, predicted.box);
    for (const auto& [id, box] : given) ids_[id] = true;
    std::vector<bool> is_taken(given.size());
    // A person keeps an id while its box overlaps them. Otherwise, the best other box counts.
    for (const bool keeps : {true, false})
      for (std::size_t p = 0; p < people.size(); ++p) {
        if (!people[p].is_there(t) || (!keeps && has_box_at_[p] == t)) continue;
        if (keeps) {
          ++score_.boxes;
          has_box_at_[p] = -1;
        }
        std::optional<std::size_t> best;
        double most = 0.4;
        for (std::size_t i = 0; i < given.size(); ++i) {
          if (is_taken[i] || (keeps && (!id_of_.contains(p) || given[i].first != id_of_[p])))
            continue;
          const double overlap = iou(given[i].second, people[p].box(t));
          if (overlap > most) best = i, most = overlap;
        }
        if (!best) continue;
        is_taken[*best] = true;
        has_box_at_[p] = t;
        ++score_.covered;
        if (id_of_.contains(p) && id_of_[p] != given[*best].first) ++score_.switches;
        id_of_[p] = given[*best].first;
      }
    score_.false_boxes += static_cast<int>(std::ranges::count(is_taken, false));
  }

  Score score() const {
    Score score = score_;
    score.ids = ids_.size();
    return score;
  }

 private:
  Score score_;
  std::map<std::size_t, Uuid> id_of_;
  std::map<std::size_t, double> has_box_at_;
  std::map<Uuid, bool> ids_;
};

inline Score track(const std::vector<Person>& people, const Detector& detector, double seconds,
                   double frames_per_second, const TrackerSettings& settings = {},
                   unsigned seed = 1) {
  MultiObjectTracker tracker(settings, seed);
  std::mt19937 engine(seed);
  Scorer scorer;
  for (int frame = 0; frame < std::lround(seconds * frames_per_second); ++frame) {
    const double t = frame / frames_per_second;
    const auto found = detect(people, t, detector, engine);
    scorer.add(people, t, tracker.update(std::chrono::nanoseconds(std::llround(t * 1e9)), found));
  }
  return scorer.score();
}

/// People who walk through 1280 × 720 pixels in all directions, so they cross each other.
inline std::vector<Person> crowd(int count, unsigned seed, std::size_t looks = 0) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::normal_distribution<double> normal;
  std::vector<Person> people;
  for (int i = 0; i < count; ++i) {
    const double height = 80 + 120 * share(engine);
    const double speed = (0.4 + 0.6 * share(engine)) * height;  // about 0.7 to 1.7 m/s
    const double way = 2 * M_PI * share(engine);
    Person person{.x = 1280 * share(engine),
                  .y = 200 + 520 * share(engine),
                  .speed_x = speed * std::cos(way),
                  .speed_y = 0.3 * speed * std::sin(way),
                  .height = height,
                  .from = 4 * share(engine)};
    person.until = person.from + 4 + 8 * share(engine);
    person.x -= person.speed_x * (person.from + person.until) / 2;
    for (std::size_t k = 0; k < looks; ++k)
      person.looks.push_back(static_cast<float>(normal(engine)));
    double sum = 0;
    for (const float x : person.looks) sum += static_cast<double>(x) * x;
    for (float& x : person.looks) x = static_cast<float>(x / std::sqrt(sum));
    people.push_back(person);
  }
  return people;
}

}  // namespace vcap::scenes
