// SPDX-License-Identifier: Apache-2.0
#include "vcap/jobs/job.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/capsule_info_json.hpp"
#include "files/entry_name.hpp"
#include "files/file_list.hpp"
#include "files/mapped_file.hpp"
#include "files/strict_json.hpp"
#include "model/json_view.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/make_annotators.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJobSchema = "vcap.job/1";

constexpr std::int64_t kMostSlices = 10'000;
constexpr std::int64_t kMostAttempts = 100;
constexpr std::int64_t kMostParallel = 1'000;
/// Leaves room for an extension in an output's file name.
constexpr std::size_t kVideoIdBytes = 200;

/// The path that the text names, relative to the job file's folder.
fs::path read_path(const JsonView& json, const fs::path& folder) {
  if (json.text().empty()) json.fail("a path");
  return folder / json.text();
}

fs::path read_file_path(const JsonView& json, const fs::path& folder) {
  fs::path path = read_path(json, folder);
  std::error_code unknown;
  if (!fs::is_regular_file(path, unknown))
    json.complain("there is no file " + quote(path.native()) + "; check the path");
  return path;
}

/// A whole number from 1 to `most`, or a word for a number.
int read_count(const JsonView& json, std::int64_t most,
               const std::map<std::string, int>& words = {}) {
  const nlohmann::json& value = json.value();
  if (value.is_string())
    if (const auto word = words.find(json.text()); word != words.end()) return word->second;
  std::string needed = "a whole number from 1 to " + std::to_string(most);
  for (const auto& [word, count] : words) needed += " or " + quote(word);
  if (!value.is_number_integer() || json.integer() < 1 || json.integer() > most) json.fail(needed);
  return static_cast<int>(json.integer());
}

nlohmann::json read_object(const JsonView& json) {
  if (!json.value().is_object()) json.fail("an object");
  return json.value();
}

Stencil read_own_stencil(const JsonView& json) {
  json.allow_fields({"offsets", "edge"});
  return read_stencil(json);
}

InvalidOutput read_invalid_output(const JsonView& json) {
  for (const auto one : {InvalidOutput::error, InvalidOutput::warn, InvalidOutput::off})
    if (json.value() == to_string(one)) return one;
  json.fail("\"error\", \"warn\" or \"off\"");
}

std::int64_t read_from_one(const JsonView& json) {
  const std::int64_t number = json.integer();
  if (number < 1) json.fail("a whole number from 1");
  return number;
}

std::map<std::string, JsonValue> read_by_capsule(const JsonView& json) {
  std::map<std::string, JsonValue> values;
  for (const auto& [capsule, value] : json.fields()) values.emplace(capsule, read_object(value));
  return values;
}

std::vector<std::string> read_names(const JsonView& json) {
  std::vector<std::string> names;
  for (const JsonView& name : json.elements()) {
    if (std::find(names.begin(), names.end(), name.text()) != names.end())
      name.complain("the capsule " + quote(name.text()) + " occurs twice; name it once");
    names.push_back(name.text());
  }
  if (names.empty()) json.fail("at least one capsule's name");
  return names;
}

std::vector<Job::CapsuleFile> read_capsules(const JsonView& json, const fs::path& folder) {
  std::vector<Job::CapsuleFile> capsules;
  for (const JsonView& element : json.elements()) {
    Job::CapsuleFile capsule;
    if (element.value().is_object()) {
      element.allow_fields({"path", "config", "stencil"});
      capsule.path = read_file_path(element["path"], folder);
      if (const auto config = element.find("config")) capsule.config = read_object(*config);
      if (const auto stencil = element.find("stencil"))
        capsule.stencil = read_own_stencil(*stencil);
    } else {
      capsule.path = read_file_path(element, folder);
    }
    for (const Job::CapsuleFile& other : capsules)
      if (fs::equivalent(other.path, capsule.path))
        element.complain("the capsule " + quote(capsule.path) + " occurs twice; name it once");
    capsules.push_back(std::move(capsule));
  }
  if (capsules.empty()) json.fail("at least one capsule");
  return capsules;
}

/// A glob that matches only this text.
std::string as_glob(const std::string& text) {
  std::string glob;
  for (const char c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) glob += '\\';
    glob += c;
  }
  return glob;
}

/// The files that a folder or a glob stands for; `nullopt` if the text names one file.
std::optional<std::vector<fs::path>> expanded(const JsonView& json, const fs::path& folder) {
  const fs::path path = read_path(json, folder);
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) {
    std::vector<fs::path> files = files_in(path);
    std::erase_if(files, [](const fs::path& file) { return !is_video_file(file); });
    if (files.empty())
      json.complain("the folder " + quote(path.native()) +
                    " has no videos directly in it; give another folder, or a glob (supported: " +
                    quote_list(video_extensions()) + ")");
    return files;
  }
  if (fs::exists(path, unknown) || !is_glob(json.text())) return std::nullopt;
  std::vector<fs::path> files = files_matching(as_glob(folder.native()) / fs::path(json.text()));
  if (files.empty())
    json.complain("no file matches " + quote(path.native()) + "; check the folder and the pattern");
  return files;
}

void check_id(const JsonView& json, const Job::Video& video) {
  std::string fault = entry_name_fault(video.id);
  if (video.id.find('/') != video.id.npos) fault = "has a slash";
  if (video.id.starts_with('.')) fault = "begins with a dot";
  if (video.id.size() > kVideoIdBytes)
    fault = "has more than " + std::to_string(kVideoIdBytes) + " bytes";
  if (!fault.empty())
    json.complain("the id " + quote(video.id) + " of video " + quote(video.source) +
                  " is used in file names, but " + fault + "; give it another \"id\"");
}

/// The settings that the videos of one source share. The id is the source's, and may be empty.
Job::Video read_settings(const JsonView& json) {
  json.allow_fields({"source", "id", "capsules", "options", "config"});
  Job::Video video;
  if (const auto id = json.find("id")) {
    video.id = id->text();
    if (video.id.empty()) id->fail("a text");
  }
  if (const auto capsules = json.find("capsules")) video.capsules = read_names(*capsules);
  if (const auto options = json.find("options")) video.options = read_by_capsule(*options);
  if (const auto config = json.find("config")) video.config = read_by_capsule(*config);
  return video;
}

std::vector<Job::Video> read_source(const JsonView& json, const fs::path& folder) {
  const bool has_settings = json.value().is_object();
  const Job::Video settings = has_settings ? read_settings(json) : Job::Video();
  const JsonView source = has_settings ? json["source"] : json;
  const auto files = expanded(source, folder);

  std::vector<Job::Video> videos;
  for (const fs::path& file : files ? *files : std::vector{read_file_path(source, folder)}) {
    Job::Video& video = videos.emplace_back(settings);
    video.source = file;
    if (settings.id.empty())
      video.id = file.stem().native();
    else if (files)
      video.id += "-" + file.stem().native();
    check_id(json, video);
  }
  return videos;
}

std::vector<Job::Video> read_sources(const JsonView& json, const fs::path& folder) {
  std::vector<Job::Video> videos;
  std::map<std::string, fs::path> ids;
  for (const JsonView& element : json.elements()) {
    for (Job::Video& video : read_source(element, folder)) {
      const auto [place, is_new] = ids.emplace(video.id, video.source);
      if (!is_new)
        element.complain("the videos " + quote(place->second.native()) + " and " +
                         quote(video.source) + " both have the id " + quote(video.id) +
                         "; give one of them another \"id\"");
      videos.push_back(std::move(video));
    }
  }
  if (videos.empty()) json.fail("at least one source");
  return videos;
}

std::string read_draw(const JsonView& json, const Job::Outputs& outputs) {
  std::string list = json.text();
  if (!outputs.video || !outputs.picture.empty())
    json.complain(
        "it says what is drawn on the frames of the videos; set \"video\" to true, and leave "
        "\"picture\" out");
  try {
    make_annotators(list);
  } catch (const InvalidArgument& error) {
    json.complain(error.what());
  }
  return list;
}

Job::Outputs read_outputs(const JsonView& json, const fs::path& folder) {
  json.allow_fields({"folder", "jsonl", "video", "picture", "draw", "summary"});
  fs::path outputs_folder = read_path(json["folder"], folder);
  if (!outputs_folder.has_filename()) outputs_folder = outputs_folder.parent_path();
  Job::Outputs outputs{.folder = outputs_folder};
  if (const auto jsonl = json.find("jsonl")) outputs.jsonl = jsonl->boolean();
  if (const auto video = json.find("video")) outputs.video = video->boolean();
  if (const auto picture = json.find("picture")) {
    outputs.picture = picture->text();
    if (outputs.picture.empty() || !outputs.video)
      picture->complain(
          "it names the picture that the videos show; give a name, and set \"video\" to true");
  }
  if (const auto draw = json.find("draw")) outputs.draw = read_draw(*draw, outputs);
  if (const auto summary = json.find("summary")) outputs.summary = summary->boolean();
  if (!outputs.jsonl && !outputs.video && !outputs.summary)
    json.complain("no output is chosen; set \"jsonl\", \"video\" or \"summary\" to true");
  return outputs;
}

/// An output in a source's folder could replace a source, or be taken for one in a later run.
void check_apart(const JsonView& json, const Job& job) {
  std::error_code unknown;
  const fs::path outputs = fs::weakly_canonical(job.outputs.folder, unknown);
  for (const Job::Video& video : job.videos)
    if (fs::weakly_canonical(fs::path(video.source), unknown).parent_path() == outputs)
      json.complain("the folder " + quote(job.outputs.folder) + " contains the source " +
                    quote(video.source) + "; give another folder for the outputs");
}

Job read_whole(const JsonView& json, const fs::path& folder) {
  json.allow_fields({"schema", "capsules", "sources", "outputs", "slices", "attempts", "parallel",
                     "invalid_output", "max_pixels", "max_frames"});
  if (json["schema"].text() != kJobSchema) json["schema"].fail(quote(kJobSchema));
  Job job{.capsules = read_capsules(json["capsules"], folder),
          .videos = read_sources(json["sources"], folder),
          .outputs = read_outputs(json["outputs"], folder)};
  if (const auto slices = json.find("slices"))
    job.slices = read_count(*slices, kMostSlices, {{"auto", 0}, {"off", 1}});
  if (const auto attempts = json.find("attempts"))
    job.attempts = read_count(*attempts, kMostAttempts);
  if (const auto parallel = json.find("parallel"))
    job.parallel = read_count(*parallel, kMostParallel, {{"auto", 0}});
  if (const auto choice = json.find("invalid_output"))
    job.invalid_output = read_invalid_output(*choice);
  if (const auto pixels = json.find("max_pixels")) job.max_pixels = read_from_one(*pixels);
  if (const auto frames = json.find("max_frames")) job.max_frames = read_from_one(*frames);
  check_apart(json["outputs"]["folder"], job);
  return job;
}

nlohmann::json read_strictly(const fs::path& file) {
  try {
    const auto content = MappedFile::open(file);
    const auto bytes = content->bytes();
    return parse_strictly({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const std::system_error& error) {
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "cannot be read: " + error.code().message() + "; check the path");
  }
}

}  // namespace

Job read_job(const nlohmann::json& json, const std::string& folder) {
  return read_whole(JsonView(json), folder);
}

Job read_job(const std::string& file) {
  try {
    return read_job(read_strictly(file), fs::absolute(file).parent_path());
  } catch (const Error& error) {
    throw InvalidArgument(error.code() == ErrorCode::invalid_argument ? ErrorCode::invalid_argument
                                                                      : ErrorCode::invalid_json,
                          "job file " + quote(file) + ": " + error.what());
  }
}

}  // namespace vcap
