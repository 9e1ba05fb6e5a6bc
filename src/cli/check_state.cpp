// SPDX-License-Identifier: Apache-2.0
// Checks whether a capsule's declarations about its state are true: compares runs that must give
// the same records.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/describe_operation.hpp"
#include "cli/access_options.hpp"
#include "cli/capsule_settings.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_exit.hpp"
#include "cli/resource_arguments.hpp"
#include "files/digest.hpp"
#include "records/record_difference.hpp"
#include "records/record_line.hpp"
#include "sources/in_order_access.hpp"
#include "streams/slicing.hpp"
#include "vcap/base/error.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/loading/manifest.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::cli {
namespace {

constexpr const char* kHelp =
    "The capsule runs over the source without slices and with one input at a time. Then it runs "
    "again: in slices, over one frame in ten (or fewer, if its warm-up is longer), and in batches. "
    "If its declaration is true (stateless, or the warm-up), all runs give the same records. For "
    "each run, the first frame that differs is shown, with the field and both values. Before that, "
    "the capsules given by --with run twice by themselves: if their records differ, nothing can be "
    "shown.\n"
    "Exit code 1 means that records differ, or that the source is too short for a result.";

constexpr std::size_t kDefaultBatch = 8;
constexpr std::int64_t kApart = 10;

struct CheckArguments {
  std::string capsule;
  std::vector<std::string> with;
  std::string source;
  std::vector<std::string> options;
  std::vector<std::string> configs;
  std::vector<std::string> stream_configs;
  std::vector<std::size_t> slices{2, 5};
  std::size_t batch = 0;  ///< 0: the capsule's
  std::int64_t max_frames = 0;
  std::vector<std::string> tolerances;
  AccessArguments access;
  ResourceArguments resources;
};

/// "0.5" or "bbox=0.5".
RecordTolerance read_tolerances(const std::vector<std::string>& texts) {
  RecordTolerance tolerance;
  for (const std::string& text : texts) {
    const auto equals = text.rfind('=');
    const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
    double value = 0;
    const char* const end = number.data() + number.size();
    const auto [stop, failed] = std::from_chars(number.data(), end, value);
    if (failed != std::errc() || stop != end || !(value >= 0) || !std::isfinite(value))
      throw UsageError("--tolerance " + text + ": \"" + number +
                       "\" is not a number from 0; write NUMBER or FIELD=NUMBER");
    if (equals == 0)
      throw UsageError("--tolerance " + text +
                       ": the field is empty; write NUMBER or FIELD=NUMBER");
    if (equals == std::string::npos)
      tolerance.of_all = value;
    else
      tolerance.of_fields[text.substr(0, equals)] = value;
  }
  return tolerance;
}

/// The record as it is compared: with a digest of each picture, since a record has no pixels.
std::string compared_line(const FrameRecord& record) {
  std::string line = record_line(record);
  if (record.pictures.empty()) return line;
  nlohmann::json json = nlohmann::json::parse(line);
  for (nlohmann::json& picture : json.at("pictures")) {
    const cv::Mat image = record.frame.pictures.at(picture.at("name").get<std::string>());
    Sha256 digest;
    for (int row = 0; row < image.rows; ++row)
      digest.update(std::as_bytes(
          std::span(image.ptr(row), static_cast<std::size_t>(image.cols) * image.elemSize())));
    picture["sha256"] = digest.hexadecimal();
  }
  return json.dump() + '\n';
}

/// Gives the records to a function, with the pictures that the capsules give, and without the
/// pixels of frames.
class ComparingSink final : public Sink {
 public:
  ComparingSink(std::function<void(const FrameRecord&)> take, std::vector<std::string> pictures)
      : take_(std::move(take)), pictures_(std::move(pictures)) {}
  void write(const FrameRecord& record) override { take_(record); }
  bool needs_pixels() const override { return false; }
  std::vector<std::string> pictures() const override { return pictures_; }

 private:
  const std::function<void(const FrameRecord&)> take_;
  const std::vector<std::string> pictures_;
};

/// The lines of the reference run, in a private temporary file.
class Reference {
 public:
  Reference() : file_(std::tmpfile(), &std::fclose) {
    if (!file_) throw std::system_error(errno, std::generic_category(), "a temporary file");
  }
  void add(const std::string& line) {
    if (std::fputs(line.c_str(), file_.get()) < 0)
      throw std::system_error(errno, std::generic_category(), "a temporary file");
    ++frames_;
  }
  std::int64_t frames() const noexcept { return frames_; }
  void begin() { std::rewind(file_.get()); }
  /// `nullopt` after the last line.
  std::optional<std::string> next() {
    char* text = nullptr;
    std::size_t room = 0;
    const ssize_t length = ::getline(&text, &room, file_.get());
    const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
    if (length < 0) return std::nullopt;
    return std::string(text, static_cast<std::size_t>(length));
  }

 private:
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file_;
  std::int64_t frames_ = 0;
};

/// How one run's records compare with the reference.
class Verdict {
 public:
  Verdict(Reference& reference, const RecordTolerance& tolerance)
      : reference_(reference), tolerance_(tolerance) {
    reference_.begin();
  }

  /// `frames_apart`: the run has only every frames_apart-th frame.
  void add(const FrameRecord& record, std::int64_t frames_apart) {
    std::optional<std::string> line = reference_.next();
    for (std::int64_t i = 1; i < frames_apart && frames_ > 0; ++i) line = reference_.next();
    ++frames_;
    const nlohmann::json own = nlohmann::json::parse(compared_line(record));
    const nlohmann::json other = line ? nlohmann::json::parse(*line) : nlohmann::json::object();
    if (own == other) return;
    const auto difference = first_difference(own, other, tolerance_);
    if (!difference) {
      ++tolerated_;
      return;
    }
    if (differing_++ == 0)
      first_ = "frame " + std::to_string(record.frame.index) + ", " + difference->field + ": " +
               difference->value + " in place of " + difference->other;
  }

  /// Call it after the last record.
  void end(std::int64_t frames_apart) {
    for (std::int64_t i = 1; i < frames_apart && frames_ > 0; ++i) reference_.next();
    is_short_ = reference_.next().has_value();
  }
  bool is_same() const noexcept { return differing_ == 0 && !is_short_; }
  std::string text() const {
    const std::string frames = counted(frames_, "frame");
    if (is_short_) return frames + ", fewer than the run without slices";
    if (!is_same())
      return std::to_string(differing_) + " of " + frames + " differ, the first: " + first_;
    if (tolerated_ == 0) return frames + ", the same";
    return frames + ", the same within the tolerance, in which " + std::to_string(tolerated_) +
           " differ";
  }

 private:
  Reference& reference_;
  const RecordTolerance& tolerance_;
  std::int64_t frames_ = 0;
  std::int64_t differing_ = 0;
  std::int64_t tolerated_ = 0;
  bool is_short_ = false;
  std::string first_;
};

class StateCheck {
 public:
  explicit StateCheck(const CheckArguments& arguments)
      : arguments_(arguments),
        tolerance_(read_tolerances(arguments.tolerances)),
        access_(read_access(arguments.access)) {
    access_.resources = arguments.resources.options();
    paths_ = arguments.with;
    paths_.insert(paths_.begin(), arguments.capsule);
    for (const std::string& path : paths_) infos_.push_back(read_manifest(path, access_).info);
    settings_ = read_settings(infos_, arguments.options, arguments.configs);
    stream_settings_ =
        read_stream_settings({"stream"}, infos_, settings_, {.configs = arguments.stream_configs})
            .at("stream");
  }

  int run() {
    const CapsuleInfo& info = infos_.front();
    std::cout << "capsule " << info.name << " version " << info.version << ": "
              << detail::describe_state(info) << std::endl;
    if (!others_repeat()) return kFailed;
    const auto alone = load(BatchSizes{.maximum = 1});
    record(*alone, reference_);
    frames_ = reference_.frames();
    require_tolerated_fields();
    check(*alone, "again, no slices", {});
    check_slices(*alone);
    check_apart(*alone);
    const std::size_t most = arguments_.batch > 0 ? arguments_.batch
                             : info.batch         ? info.batch->maximum
                                                  : kDefaultBatch;
    check_batches(most);
    return is_true_ && is_conclusive_ ? kDone : kFailed;
  }

 private:
  /// Whether the other capsules give the same records again without the capsule under test. If they
  /// do not, no difference would be the fault of that capsule.
  bool others_repeat() const {
    if (infos_.size() == 1) return true;
    std::unique_ptr<Pipeline> others;
    try {
      others = load({}, 1);
    } catch (const PlanError&) {
      return true;  // they need its nodes, so they come after it
    }
    Reference once;
    record(*others, once, infos_.front().name);
    Verdict again(once, tolerance_);
    run_stream(
        *others, {}, [&](const FrameRecord& record) { again.add(record, 1); }, infos_.front().name);
    again.end(1);
    if (again.is_same()) return true;
    std::string names;
    for (auto other = infos_.begin() + 1; other != infos_.end(); ++other)
      names += (names.empty() ? "" : ", ") + other->name;
    print_line("without it, again", again.text());
    std::cout << "nothing is shown about capsule " << infos_.front().name
              << ", because the capsules given by --with (" << names
              << ") do not give the same records in every run; check each of them first\n";
    return false;
  }

  /// The pictures that the capsules give, other than the capsule `without`.
  std::vector<std::string> pictures(const std::string& without) const {
    std::vector<std::string> names;
    for (const CapsuleInfo& info : infos_)
      if (info.name != without)
        for (const PictureDescription& picture : info.gives_pictures) names.push_back(picture.name);
    return names;
  }

  void check_slices(Pipeline& pipeline) {
    if (const CapsuleInfo* unbounded = unbounded_one())
      return print_line("in slices",
                        "not run: the state of capsule " + unbounded->name + " is unbounded");
    for (const std::size_t slices : arguments_.slices) {
      const std::string name = "in " + std::to_string(slices) + " slices";
      const auto count = static_cast<std::int64_t>(slices);
      if (count > frames_) {
        print_not_run(name, too_short());
        continue;
      }
      // If the last slice is fed from the first frame on, every slice sees all frames before it,
      // and the run shows nothing.
      if (const std::int64_t begin = frames_ / count * (count - 1); begin > reach())
        check(pipeline, name, {.slices = slices});
      else
        print_not_run(name,
                      "each slice would need all frames before it; give a source of more "
                      "than " +
                          counted(std::max(count, (reach() + 1) * count / (count - 1)), "frame"));
    }
  }

  void check_apart(Pipeline& pipeline) {
    // So far apart that no warm-up reaches from one frame to the next.
    const std::int64_t apart = std::max(kApart, reach() + 2);
    const std::string name = "one frame in " + std::to_string(apart);
    // Up to the last frame that the reference has: the source's header may announce others.
    if (unbounded_one() || apart < frames_)
      check(pipeline, name, {.select = Sampler::strided_ranges({{0, frames_}}, apart)}, apart);
    else
      print_not_run(name, too_short());
  }

  void check_batches(std::size_t most) {
    const std::string name = "in batches of " + std::to_string(most);
    const auto pipeline = load(BatchSizes{.maximum = most});
    const Verdict verdict = judge(*pipeline, {});
    if (most == 1 || !verdict.is_same() || has_batched(pipeline->stats().capsules))
      return print_line(name, verdict.text());
    const std::string none = verdict.text() + "; no two inputs were in one batch, ";
    if (!infos_.front().batch)
      return print_line(name, none + "because the capsule does not declare batches");
    is_conclusive_ = false;
    print_line(name, none + "so this shows nothing: run it on a machine with less load");
  }

  /// Whether several inputs or frames reached the first capsule together.
  bool has_batched(const std::vector<CapsuleStats>& capsules) const {
    const CapsuleInfo& info = infos_.front();
    const auto own = std::ranges::find(capsules, info.name, &CapsuleStats::name);
    // Without single nodes, and unless edges are errors, every frame counts as a call if frames do
    // not come together.
    const bool is_called_for_each = info.input_type.size != NodeDescription::Size::single &&
                                    !(info.stencil && info.stencil->edge == StencilEdge::error);
    return (is_called_for_each && own->calls < static_cast<std::uint64_t>(frames_)) ||
           std::ranges::any_of(own->backends, [](const BackendStatistics& backend) {
             return backend.batches && backend.batches->batch_sizes.quantile(1) > 1;
           });
  }

  /// The greatest number of earlier frames that are fed for one frame.
  std::int64_t reach() const {
    std::int64_t reach = 0;
    for (const CapsuleInfo& info : infos_)
      reach += fed_warmup(info) + (info.stencil ? info.stencil->back() : 0);
    return reach;
  }

  /// Runs before any comparison: a field that is in no record was misspelt.
  void require_tolerated_fields() {
    for (const auto& [field, value] : tolerance_.of_fields) {
      const std::string name = nlohmann::json(field).dump() + ":";
      bool is_there = false;
      reference_.begin();
      while (!is_there) {
        const auto line = reference_.next();
        if (!line) break;
        is_there = line->find(name) != std::string::npos;
      }
      if (!is_there)
        throw UsageError("--tolerance " + field +
                         ": no record has a field of that name; give only a name, such as bbox or "
                         "confidence, or one of extra_data");
    }
  }

  const CapsuleInfo* unbounded_one() const {
    for (const CapsuleInfo& info : infos_)
      if (info.stream_state && !info.warmup) return &info;
    return nullptr;
  }

  /// Loads the capsules from place `begin` on: the first capsule of all with these batch sizes, the
  /// others unchanged.
  std::unique_ptr<Pipeline> load(const BatchSizes& sizes, std::size_t begin = 0) const {
    std::vector<std::shared_ptr<Capsule>> capsules;
    for (std::size_t i = begin; i < paths_.size(); ++i) {
      LoadOptions options = access_;
      if (const auto own = settings_.config.find(infos_[i].name); own != settings_.config.end())
        options.config = own->second;
      if (i == 0) options.batch = sizes;
      capsules.push_back(load_capsule(paths_[i], options));
    }
    renew_exit_watch();
    return std::make_unique<Pipeline>(std::move(capsules));
  }

  /// `without`: the name of a capsule that the pipeline does not have.
  StreamReport run_stream(Pipeline& pipeline, StreamConfig config,
                          std::function<void(const FrameRecord&)> take,
                          const std::string& without = {}) const {
    config.id = "stream";
    config.source = open_read_source(arguments_.source, frames_);
    if (config.source->info().live)
      throw UsageError("--source " + arguments_.source +
                       " is live, and each run would get other frames; give a stored source");
    config.sinks = {std::make_shared<ComparingSink>(std::move(take), pictures(without))};
    config.options = stream_settings_.options;
    config.config = stream_settings_.config;
    config.options.erase(without);
    config.config.erase(without);
    if (arguments_.max_frames > 0) config.max_frames = arguments_.max_frames;
    pipeline.open_stream(std::move(config));
    StreamReport report = pipeline.wait("stream");
    if (report.failure_cause) std::rethrow_exception(report.failure_cause);
    return report;
  }

  void record(Pipeline& pipeline, Reference& reference, const std::string& without = {}) const {
    run_stream(
        pipeline, {}, [&](const FrameRecord& record) { reference.add(compared_line(record)); },
        without);
  }

  void check(Pipeline& pipeline, const std::string& name, StreamConfig config,
             std::int64_t frames_apart = 1) {
    print_line(name, judge(pipeline, std::move(config), frames_apart).text());
  }

  Verdict judge(Pipeline& pipeline, StreamConfig config, std::int64_t frames_apart = 1) {
    Verdict verdict(reference_, tolerance_);
    run_stream(pipeline, std::move(config),
               [&](const FrameRecord& record) { verdict.add(record, frames_apart); });
    verdict.end(frames_apart);
    is_true_ = is_true_ && verdict.is_same();
    return verdict;
  }

  std::string too_short() const { return "the source has only " + counted(frames_, "frame"); }

  /// For a run that would give the same records for a true and for a false declaration.
  void print_not_run(const std::string& name, const std::string& why) {
    is_conclusive_ = false;
    print_line(name, "not run: " + why);
  }

  static void print_line(const std::string& name, const std::string& what) {
    constexpr std::size_t kWidth = 18;
    std::cout << "  " << name << std::string(kWidth - std::min(kWidth, name.size()), ' ') << ' '
              << what << std::endl;
  }

  const CheckArguments& arguments_;
  const RecordTolerance tolerance_;
  LoadOptions access_;
  std::vector<std::string> paths_;
  std::vector<CapsuleInfo> infos_;
  CapsuleSettings settings_;
  StreamSettings stream_settings_;
  Reference reference_;
  std::int64_t frames_ = 0;  ///< of the reference
  bool is_true_ = true;
  bool is_conclusive_ = true;  ///< whether every check gave a result
};

}  // namespace

void add_check_state(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand(
      "check-state", "Checks by runs that a capsule's declaration of its state is true");
  const auto repeated = [command](const char* name, std::vector<std::string>& values,
                                  const char* help, const char* type) {
    command->add_option(name, values, help)->type_name(type)->allow_extra_args(false);
  };
  command->add_option("CAPSULE", arguments->capsule, "The capsule")->type_name("PATH")->required();
  command->add_option("--source", arguments->source, "A stored source")
      ->type_name("SOURCE")
      ->required();
  repeated("--with", arguments->with, "Another capsule, which provides nodes for it", "PATH");
  repeated("--option", arguments->options, "Sets an option of a capsule", "CAPSULE.NAME=VALUE");
  repeated("--config", arguments->configs, "The config that a capsule gets when it is loaded",
           "CAPSULE=JSON|@FILE");
  repeated("--stream-config", arguments->stream_configs, "The config of a capsule for the stream",
           "CAPSULE=JSON|@FILE");
  repeated("--tolerance", arguments->tolerances,
           "The allowed difference of numbers: of all, or of one field, such as bbox=0.5",
           "[FIELD=]NUMBER");
  command
      ->add_option("--slices", arguments->slices, "The number of slices of a run; may be repeated")
      ->type_name("N")
      ->allow_extra_args(false)
      ->check(CLI::Range(std::size_t{2}, std::size_t{100'000}));
  command->add_option("--batch", arguments->batch, "The size of the largest batches")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}));
  command->add_option("--max-frames", arguments->max_frames, "Ends after that many frames")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  arguments->resources.add_to(*command, "--resource-cache");
  add_access_options(*command, arguments->access);
  command->footer(std::string(kHelp) + "\n" + kExitCodesHelp);
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return StateCheck(*arguments).run(); }; });
}

}  // namespace vcap::cli
