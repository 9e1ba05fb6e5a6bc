// SPDX-License-Identifier: Apache-2.0
//
// Commands on standard input open and close streams, change options and replace capsules, while
// everything runs:
//   live_host detector_person.cap tracker_person.cap
//   attach gate rtsp://camera/1 detector_person.threshold=0.7
//   attach yard clip.avi
//   option gate detector_person.threshold=0.4
//   upgrade detector_person-v2.cap
//   stats
//   detach gate
// At the end of the input, the program waits for the streams that end by themselves.
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vcap/vcap.hpp>

namespace {

/// "detector_person.threshold=0.7"
struct Setting {
  std::string capsule, option, value;
};

Setting read_setting(const std::string& text) {
  const std::size_t dot = text.find('.');
  const std::size_t sign = text.find('=', dot == std::string::npos ? 0 : dot);
  if (dot == std::string::npos || sign == std::string::npos)
    throw std::runtime_error("not CAPSULE.OPTION=VALUE: " + text);
  return {text.substr(0, dot), text.substr(dot + 1, sign - dot - 1), text.substr(sign + 1)};
}

class LiveHost {
 public:
  explicit LiveHost(const std::vector<std::shared_ptr<vcap::Capsule>>& capsules)
      : pipeline_(capsules) {
    for (const auto& capsule : capsules) defaults_[capsule->name()] = capsule->default_options();
  }

  void execute(const std::string& line) {
    std::istringstream words(line);
    std::string command, what;
    words >> command >> what;
    if (command == "attach")
      attach(what, words);
    else if (command == "option")
      set_option(what, words);
    else if (command == "upgrade")
      upgrade(what);
    else if (command == "detach")
      tell(pipeline_.close_stream(what));
    else if (command == "stats")
      std::cout << nlohmann::json(pipeline_.stats()).dump(2) << '\n';
    else
      throw std::runtime_error("unknown command: " + line);
  }

  void wait() {
    for (const vcap::StreamReport& open : pipeline_.reports()) tell(pipeline_.wait(open.id));
  }

 private:
  void attach(const std::string& id, std::istream& words) {
    std::string source;
    words >> source;
    vcap::StreamConfig config{.id = id, .source = vcap::open_source(source)};
    for (std::string word; words >> word;) {
      const Setting setting = read_setting(word);
      config.options.try_emplace(setting.capsule, defaults_.at(setting.capsule))
          .first->second.set_from_text(setting.option, setting.value);
    }
    config.sinks = {vcap::make_callback_sink([](const auto& record) { show(record); })};
    config.quarantine = {.failures = 10};                // a capsule that keeps failing pauses
    config.capsule_deadline = std::chrono::seconds(30);  // a capsule that hangs blocks no stream
    pipeline_.open_stream(std::move(config));
  }

  void set_option(const std::string& id, std::istream& words) {
    std::string word;
    words >> word;
    const Setting setting = read_setting(word);
    vcap::OptionValues& values = defaults_.at(setting.capsule);
    vcap::OptionValues changed = values;
    changed.set_from_text(setting.option, setting.value);
    const auto frame =
        pipeline_.set_option(id, setting.capsule, setting.option, changed.get(setting.option));
    std::cout << id << ": from frame " << frame << " on\n";
  }

  void upgrade(const std::string& path) {
    // [upgrade]
    const auto frames = pipeline_.replace_capsule(vcap::load_capsule(path), {.trial_frames = 100});
    for (const auto& [id, frame] : frames) std::cout << id << ": from frame " << frame << " on\n";
    // [/upgrade]
  }

  /// Called for several streams at once, and for one record of a stream at a time.
  static void show(const vcap::FrameRecord& record) {
    std::ostringstream line;
    for (const vcap::FrameRecord::Replacement& one : record.replacements)
      line << record.stream_id << " frame " << record.frame.index << ": " << one.capsule
           << " version " << one.to_version << '\n';
    for (const vcap::FrameRecord::OptionChange& one : record.option_changes)
      line << record.stream_id << " frame " << record.frame.index << ": " << one.capsule << '.'
           << one.option << " changed\n";
    std::cout << line.str() << std::flush;
  }

  static void tell(const vcap::StreamReport& report) {
    std::cout << report.id << ": " << report.frames << " frames, " << report.errors
              << " with errors" << (report.failure ? "; failed: " + *report.failure : "") << '\n';
  }

  std::map<std::string, vcap::OptionValues> defaults_;
  vcap::Pipeline pipeline_;
};

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::shared_ptr<vcap::Capsule>> capsules;
  for (const char* path : std::span(argv, static_cast<std::size_t>(argc)).subspan(1))
    capsules.push_back(vcap::load_capsule(path));
  if (capsules.empty()) {
    std::cerr << "usage: live_host CAPSULE.cap...\n";
    return 2;
  }
  LiveHost host(capsules);
  capsules.clear();  // so that a replaced capsule can be destroyed
  for (std::string line; std::getline(std::cin, line);) try {
      host.execute(line);
    } catch (const std::exception& error) {
      std::cerr << "live_host: " << error.what() << '\n';
    }
  host.wait();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "live_host: " << error.what() << '\n';
  return 1;
}
