// SPDX-License-Identifier: Apache-2.0
//
// The code of docs/embedding.md, compiled and run.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vcap/vcap.hpp>

#include "examples/examples.hpp"

namespace {

using examples::capsule_path;

cv::Mat a_picture() { return examples::read_frames(examples::footage(), 1).front(); }

TEST(Embedding, RunsOneCapsuleOnOnePicture) {
  const std::filesystem::path file = capsule_path("detector_person_hog");
  const cv::Mat picture = a_picture();
  // [one-picture]
  const std::shared_ptr<vcap::Capsule> detector = vcap::load_capsule(file);

  vcap::OptionValues options = detector->default_options();
  options.set("threshold", 0.7);

  const vcap::DetectionNodes people = detector->process_frame({.image = picture}, {}, options);
  for (const vcap::DetectionNode& person : people)
    std::cout << person.name << ' ' << *person.confidence() << '\n';
  // [/one-picture]
  EXPECT_FALSE(people.empty());
}

TEST(Embedding, ChainsCapsulesByHand) {
  const auto detector = examples::load("detector_person_hog");
  const auto tracker = examples::load("tracker_person");
  const auto classifier = examples::load("classifier_clothing_color");
  const vcap::Frame frame{.image = a_picture(), .discontinuity = vcap::Discontinuity::start};
  // [by-hand]
  const std::string stream = "entrance";
  vcap::DetectionNodes people = detector->process_frame(frame);
  people = tracker->process_frame(frame, std::move(people), {}, stream);  // all at once, in order
  for (vcap::DetectionNode& person : people) {                            // one by one
    auto classified =
        classifier->process_frame(frame, vcap::DetectionNodes::single(std::move(person)));
    person = std::move(classified.node());
  }
  // When the stream is over:
  tracker->clean_up(stream);
  // [/by-hand]
  ASSERT_FALSE(people.empty());
  EXPECT_TRUE(people[0].track_id);
  EXPECT_TRUE(people[0].attributes.contains("upper_color"));
}

TEST(Embedding, ReadsADescriptionWithoutRunningCode) {
  const std::filesystem::path file = capsule_path("detector_person_hog");
  // [describe]
  const vcap::Manifest manifest = vcap::read_manifest(file);
  std::cout << manifest.info.name << ' ' << manifest.info.version << '\n';
  const nlohmann::json form = vcap::options_schema(manifest.info.options);  // for a generated UI
  // [/describe]
  EXPECT_TRUE(form.at("properties").contains("threshold"));
}

TEST(Embedding, DistinguishesErrors) {
  const std::filesystem::path file = "absent.cap";
  std::string log;
  const auto report = [&](const std::string& text) { log += text; };
  // [errors]
  try {
    const auto capsule = vcap::load_capsule(file);
  } catch (const vcap::IncompatibleCapsuleError& error) {
    report(std::string("made for another host: ") + error.what());
  } catch (const vcap::DeviceError& error) {
    report(std::string("nothing to run it on: ") + error.what());
  } catch (const vcap::Error& error) {  // the root of all that vcap throws
    report(std::string(to_string(error.code())) + ": " + error.what());
  }
  // [/errors]
  EXPECT_THAT(log, testing::StartsWith("capsule_not_found: "));
}

// [sink]
/// Counts persons, whatever the stream. Streams write at the same time, hence the atomic.
class Counter final : public vcap::Sink {
 public:
  void write(const vcap::FrameRecord& record) override {
    persons_ += record.objects.size();
    if (!record.errors.empty()) ++failed_frames_;
  }
  std::size_t persons() const { return persons_; }

 private:
  std::atomic<std::size_t> persons_ = 0;
  std::atomic<std::size_t> failed_frames_ = 0;
};
// [/sink]

TEST(Embedding, RunsAPipelineWithSinksAndOptions) {
  const std::filesystem::path folder = testing::TempDir();
  const std::string video = examples::footage().string();
  // [pipeline]
  const auto detector = vcap::load_capsule(capsule_path("detector_person_hog"));
  const auto tracker = vcap::load_capsule(capsule_path("tracker_person"));

  vcap::OptionValues careful = detector->default_options();
  careful.set("threshold", 0.6);

  const auto counter = std::make_shared<Counter>();
  const std::shared_ptr<vcap::Sink> lines = vcap::make_json_lines_sink(folder / "frames.jsonl");
  vcap::Pipeline pipeline({detector, tracker});
  pipeline.open_stream({.id = "entrance",
                        .source = vcap::open_source(video),
                        .sinks = {counter, lines},
                        .options = {{"detector_person_hog", careful}},
                        .max_frames = 5});
  const vcap::StreamReport report = pipeline.wait("entrance");
  lines->close();  // now the file has its name
  if (report.failure_cause) std::rethrow_exception(report.failure_cause);
  // [/pipeline]
  EXPECT_EQ(report.frames, 5);
  EXPECT_GT(counter->persons(), 0u);
  std::ifstream written(folder / "frames.jsonl");
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(written), {}, '\n'), 5);
}

TEST(Embedding, ChangesAnOptionWhileAStreamRuns) {
  const auto detector = examples::load("detector_person_hog");
  vcap::Pipeline pipeline({detector});
  std::vector<std::pair<std::int64_t, bool>> seen;
  pipeline.open_stream({.id = "entrance",
                        .source = vcap::open_source(examples::footage().string()),
                        .sinks = {vcap::make_callback_sink([&](const vcap::FrameRecord& record) {
                          seen.emplace_back(record.frame.index, record.objects.empty());
                        })},
                        .max_frames = 12});
  // [set-option]
  const std::int64_t from =
      pipeline.set_option("entrance", "detector_person_hog", "threshold", 1.0);
  std::cout << "nobody is found from frame " << from << " on\n";
  // [/set-option]
  EXPECT_EQ(pipeline.wait("entrance").frames, 12);
  for (const auto& [index, nobody] : seen) EXPECT_TRUE(nobody || index < from) << index;
}

TEST(Embedding, FindsAPersonAgain) {
  const auto encoder = examples::load("encoder_person");
  const cv::Mat picture = a_picture();
  const auto encode = [&](const cv::Rect2d& box) {
    return *encoder
                ->process_frame({.image = picture},
                                vcap::DetectionNodes::single(examples::person(box)))
                .node()
                .encoding;
  };
  const std::vector<float> seen = encode({248, 210, 40, 106});
  const std::vector<std::vector<float>> known{encode({490, 150, 40, 90}),
                                              encode({250, 212, 40, 106})};
  // [recognise]
  const std::vector<float> distances = encoder->distances(seen, known);
  const auto nearest = std::min_element(distances.begin(), distances.end());
  const bool known_already = *nearest <= encoder->info().recognition_threshold;
  // [/recognise]
  EXPECT_TRUE(known_already);
  EXPECT_EQ(nearest - distances.begin(), 1);
}

}  // namespace
