// SPDX-License-Identifier: Apache-2.0
// Finds a person in every frame, and does to its process what its config says:
//   "hang": WHERE          never returns, in load_backend, process_frame or close, or when the
//   backend
//                          or a static object is destroyed; of misbehaver_stateful also when a
//                          state is made ("new_state"; says so first) or destroyed ("state")
//   "exit": HOW            ends the process by exit, quick_exit, _exit or _Exit; fork: ends a child
//   "in": WHERE            where it does this and the next: process_frame (the default),
//                          load_backend or close; "thread": in a thread of its own, for which
//                          process_frame waits; "static": when a static object is destroyed
//   "chdir": PATH          changes the working directory; not in close or "static"
//   "close_descriptors": N closes all descriptors from N on
//   "at": N                in process_frame: the frame at which it does these, 3 by default
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "vcap/capsule.hpp"

namespace {

constexpr int kMostDescriptors = 1024;

[[noreturn]] void hang() {
  for (;;) ::pause();
}

struct HangsAtTheEnd {
  bool armed = false;
  ~HangsAtTheEnd() {
    if (armed) hang();
  }
};

void end_process(const std::string& how) {
  if (how == "exit") std::exit(0);
  if (how == "quick_exit") std::quick_exit(0);
  if (how == "_exit") ::_exit(0);
  if (how == "_Exit") std::_Exit(0);
  if (how != "fork") return;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(7);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
    throw std::runtime_error("the child did not end with its own code");
}

/// Destroyed with the process.
struct StaticObject : HangsAtTheEnd {
  std::string exit{};
  ~StaticObject() { end_process(exit); }
};
StaticObject static_object;
bool hangs_in_new_states = false;

struct State final : vcap::BaseStreamState {
  State() {
    if (!hangs_in_new_states) return;
    std::cerr << "a new state hangs\n";
    hang();
  }

  HangsAtTheEnd end{};
};

class Backend final : public vcap::Backend {
 public:
  explicit Backend(const nlohmann::json& config)
      : hang_(config.value("hang", std::string())),
        exit_(config.value("exit", std::string())),
        in_(config.value("in", std::string("process_frame"))),
        chdir_(config.value("chdir", std::string())),
        first_closed_(config.value("close_descriptors", kMostDescriptors)),
        at_(config.value("at", std::int64_t{3})) {
    static_object.armed = hang_ == "static";
    if (in_ == "static") static_object.exit = exit_;
    hangs_in_new_states = hang_ == "new_state";
    end_.armed = hang_ == "backend";
    if (hang_ == "load_backend") hang();
    if (in_ == "load_backend") change_process();
  }

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues&,
                                     vcap::BaseStreamState& state) override {
    if (auto* own = dynamic_cast<State*>(&state)) own->end.armed = hang_ == "state";
    if (frame.index == at_) misbehave();
    return vcap::DetectionNodes::all(
        {{.name = "person", .coords = vcap::rect_to_coords(cv::Rect2d(2, 2, 8, 8))}});
  }

  void close() noexcept override {
    if (hang_ == "close") hang();
    if (in_ == "close") end_process(exit_);
  }

 private:
  void change_process() const {
    end_process(exit_);
    if (!chdir_.empty() && ::chdir(chdir_.c_str()) != 0) throw std::runtime_error("no chdir");
  }
  void misbehave() const {
    if (hang_ == "process_frame") hang();
    if (in_ == "process_frame") change_process();
    if (in_ == "thread") std::thread([this] { change_process(); }).join();
    for (int fd = first_closed_; fd < kMostDescriptors; ++fd) ::close(fd);
  }

  const std::string hang_;
  const std::string exit_;
  const std::string in_;
  const std::string chdir_;
  const int first_closed_;
  const std::int64_t at_;
  HangsAtTheEnd end_{};
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    vcap::CapsuleInfo info{
        .name = "misbehaver",
        .version = 1,
        .output_type = {.size = vcap::NodeDescription::Size::all, .detections = {"person"}}};
#ifdef VCAP_TEST_STATEFUL
    info.name = "misbehaver_stateful";
    info.stream_state = vcap::make_stream_state<State>();
#endif
    return info;
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>(config());
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
