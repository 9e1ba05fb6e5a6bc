// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <utility>

#include "hostile/hostile_case.hpp"
#include "hostile/sound_capsule.hpp"
#include "support/zip_writer.hpp"

namespace vcap::test {
namespace {

using nlohmann::json;
using ManifestChange = std::function<void(json&)>;

constexpr auto kInvalid = ErrorCode::invalid_manifest;
constexpr auto kInfo = ErrorCode::invalid_capsule_info;

std::string capsule_of(const std::string& manifest) {
  std::vector<ZipEntry> entries = sound_entries();
  entries.front() = stored_entry("capsule.json", manifest);
  return zip_bytes(entries);
}

class ManifestTable {
 public:
  void text(std::string name, std::string fault, ErrorCode code,
            std::function<std::string(std::string)> change) {
    cases_.push_back({"manifest." + std::move(name), std::move(fault), code,
                      [=] { return capsule_of(change(sound_manifest())); }});
  }
  void field(std::string name, std::string fault, ErrorCode code, const ManifestChange& change) {
    text(std::move(name), std::move(fault), code, [=](const std::string& sound) {
      json manifest = json::parse(sound);
      change(manifest);
      return manifest.dump();
    });
  }
  void set(std::string name, std::string fault, ErrorCode code, const char* pointer, json value) {
    field(std::move(name), std::move(fault), code,
          [=](json& manifest) { manifest[json::json_pointer(pointer)] = value; });
  }
  HostileCases take() { return std::move(cases_); }

 private:
  HostileCases cases_;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string nested(int depth, char open, char close) {
  return std::string(static_cast<std::size_t>(depth), open) +
         std::string(static_cast<std::size_t>(depth), close);
}

void add_texts(ManifestTable& table) {
  const auto whole = [&](const char* name, const char* fault, std::string text) {
    table.text(name, fault, kInvalid, [=](const std::string&) { return text; });
  };
  whole("empty", "no text", "");
  whole("blank", "blanks alone", "   \n ");
  whole("null", "null", "null");
  whole("list", "a list", "[]");
  whole("number", "a number", "1");
  whole("text", "a text", "\"capsule\"");
  whole("words", "no JSON", "capsule: fixture");
  whole("xml", "XML", "<capsule/>");
  whole("open", "an object that does not end", "{");
  whole("deep_lists", "a hundred thousand levels", nested(100'000, '[', ']'));
  whole("deep_open", "half a million levels that do not end", std::string(500'000, '['));
  whole("single_quotes", "single quotes", "{'format_version': 1}");
  whole("nan", "no number", "{\"format_version\": NaN}");
  whole("infinity", "no number", "{\"format_version\": Infinity}");
  whole("utf16", "UTF-16", std::string("\xff\xfe{\0}\0", 6));
  const auto edit = [&](const char* name, const char* fault, const auto& change) {
    table.text(name, fault, kInvalid, change);
  };
  edit("second_value", "a second value behind it", [](std::string t) { return t + "{}"; });
  edit("trailing_word", "a word behind it", [](std::string t) { return t + "x"; });
  edit("nul", "a zero byte behind it",
       [](std::string t) { return t + std::string(1, '\0') + "x"; });
  edit("nul_inside", "a zero byte within", [](std::string t) {
    t[5] = '\0';
    return t;
  });
  edit("cut", "cut short", [](std::string t) { return t.substr(0, t.size() - 3); });
  edit("comment", "a comment", [](const std::string& t) { return "/* mine */" + t; });
  edit("trailing_comma", "a comma too many",
       [](const std::string& t) { return replaced(t, "\n}", ",\n}"); });
  edit("not_utf8", "no UTF-8",
       [](const std::string& t) { return replaced(t, "A capsule", "\xff\xfe"); });
  edit("overlong", "an overlong letter",
       [](const std::string& t) { return replaced(t, "A capsule", "\xc0\xaf"); });
  edit("surrogate", "half a pair",
       [](const std::string& t) { return replaced(t, "A capsule", "\\ud800"); });
  edit("bad_escape", "an escape that is none",
       [](const std::string& t) { return replaced(t, "A capsule", "\\x41"); });
  edit("raw_newline", "a newline in a text",
       [](const std::string& t) { return replaced(t, "A capsule", "A\ncapsule"); });
  edit("key_twice", "a key twice",
       [](const std::string& t) { return replaced(t, "{", "{\"format_version\": 1,"); });
  edit("key_twice_inside", "a key twice, further in", [](const std::string& t) {
    return replaced(t, "\"info\": {", "\"info\": {\"name\": \"other\",");
  });
  edit("key_twice_escaped", "a key twice, once escaped",
       [](const std::string& t) { return replaced(t, "{", "{\"format\\u005fversion\": 1,"); });
  edit("deep_inside", "40 levels in a field nobody knows", [](const std::string& t) {
    return replaced(t, "{", "{\"more\": " + nested(40, '[', ']') + ",");
  });
  edit("huge_integer", "a number beyond 64 bits",
       [](const std::string& t) { return replaced(t, "{", "{\"more\": 18446744073709551616,"); });
  edit("huge_negative", "a number below 64 bits",
       [](const std::string& t) { return replaced(t, "{", "{\"more\": -9223372036854775809,"); });
  edit("long_number", "a number of ten thousand digits", [](const std::string& t) {
    return replaced(t, "{", "{\"more\": 1" + std::string(10'000, '0') + ",");
  });
  edit("huge_float", "a number beyond all doubles",
       [](const std::string& t) { return replaced(t, "{", "{\"more\": 1e999,"); });
}

void add_fields(ManifestTable& table) {
  for (const char* const pointer :
       {"/format_version", "/api_version", "/info", "/libraries", "/files", "/info/name",
        "/info/version", "/info/input_type", "/info/output_type", "/libraries/0/platform",
        "/libraries/0/path", "/libraries/0/abi_tag", "/files/0/path", "/files/0/size",
        "/files/0/sha256"}) {
    std::string name = pointer;
    for (char& c : name)
      if (c == '/') c = '_';
    table.field("missing" + name, "without " + std::string(pointer), kInvalid, [=](json& manifest) {
      const json::json_pointer place(pointer);
      manifest[place.parent_pointer()].erase(place.back());
    });
    table.set("wrong_type" + name, "a list of lists at " + std::string(pointer), kInvalid, pointer,
              json::array({json::array()}));
  }
  table.set("newer_format", "a newer form", ErrorCode::unsupported_format_version,
            "/format_version", 2);
  table.set("newest_format", "the newest form", ErrorCode::unsupported_format_version,
            "/format_version", 18446744073709551615ull);
  table.set("newer_api", "a newer API", ErrorCode::unsupported_api_version, "/api_version", 1000);
  table.set("format_zero", "version 0", kInvalid, "/format_version", 0);
  table.set("format_negative", "version -1", kInvalid, "/format_version", -1);
  table.set("format_float", "version 1.5", kInvalid, "/format_version", 1.5);
  table.set("format_text", "version \"1\"", kInvalid, "/format_version", "1");
  table.set("size_negative", "a negative size", kInvalid, "/files/0/size", -1);
  table.set("size_float", "half a byte", kInvalid, "/files/0/size", 12.5);
  table.set("size_other", "another size", ErrorCode::digest_mismatch, "/files/0/size", 13);
  table.set("size_huge", "a size beyond all files", ErrorCode::digest_mismatch, "/files/0/size",
            18446744073709551615ull);
  table.set("digest_upper_case", "a digest in upper case", kInvalid, "/files/0/sha256",
            std::string(64, 'A'));
  table.set("digest_short", "a short digest", kInvalid, "/files/0/sha256", "ab");
  table.set("digest_other", "another digest", ErrorCode::digest_mismatch, "/files/0/sha256",
            std::string(64, 'a'));
  table.set("file_climbs", "a file that climbs out", kInvalid, "/files/0/path", "../evil");
  table.set("file_absolute", "a file at the root", kInvalid, "/files/0/path", "/etc/passwd");
  table.set("file_is_manifest", "the manifest among its files", kInvalid, "/files/0/path",
            "capsule.json");
  table.field("file_twice", "a file twice", kInvalid,
              [](json& manifest) { manifest["files"].push_back(manifest["files"][0]); });
  table.field("files_not_sorted", "files in another order", kInvalid,
              [](json& manifest) { std::swap(manifest["files"][0], manifest["files"][1]); });
  table.field("file_not_there", "a file that is not there", ErrorCode::missing_entry,
              [](json& manifest) {
                json file = manifest["files"].back();
                file["path"] = "zzz";
                manifest["files"].push_back(file);
              });
  table.field("file_not_listed", "a file that is not listed", ErrorCode::unlisted_entry,
              [](json& manifest) { manifest["files"].erase(0); });
  table.field("many_files", "ten thousand files that are not there", ErrorCode::unlisted_entry,
              [](json& manifest) {
                json files = json::array();
                for (int i = 0; i < 5'000; ++i)
                  files.push_back({{"path", "f" + std::to_string(10'000 + i)},
                                   {"size", 1},
                                   {"sha256", std::string(64, 'a')}});
                for (json& file : manifest["files"])
                  if (file["path"] != "labels.txt") files.push_back(file);
                manifest["files"] = files;
              });
  table.set("no_library", "no library", kInvalid, "/libraries", json::array());
  table.set("library_elsewhere", "a library elsewhere", kInvalid, "/libraries/0/path", "evil.so");
  table.set("library_climbs", "a library that climbs out", kInvalid, "/libraries/0/path",
            "lib/../evil.so");
  table.set("platform_climbs", "a platform that climbs out", kInvalid, "/libraries/0/platform",
            "../../evil");
  table.set("platform_empty", "no platform", kInvalid, "/libraries/0/platform", "");
  table.field("platform_twice", "one platform twice", kInvalid,
              [](json& manifest) { manifest["libraries"].push_back(manifest["libraries"][0]); });
  table.set("abi_tag_empty", "no ABI", kInvalid, "/libraries/0/abi_tag", "");
  table.set("abi_tag_other", "another ABI", ErrorCode::abi_mismatch, "/libraries/0/abi_tag",
            "vcap9.9-other");
}

/// Ten definitions. Each of them names the next one twice.
json laughs() {
  json schema{{"properties", {{"a", {{"$ref", "#/definitions/0"}}}}},
              {"definitions", {{"10", json::object()}}}};
  for (int i = 0; i < 10; ++i) {
    const json next{{"$ref", "#/definitions/" + std::to_string(i + 1)}};
    schema["definitions"][std::to_string(i)] = {{"allOf", {next, next}}};
  }
  return schema;
}

void add_infos(ManifestTable& table) {
  table.set("name_empty", "no name", kInfo, "/info/name", "");
  table.set("name_with_slash", "a name with a slash", kInfo, "/info/name", "a/b");
  table.set("name_with_newline", "a name with a newline", kInfo, "/info/name", "a\nb");
  table.set("version_zero", "version 0", kInfo, "/info/version", 0);
  table.set("version_negative", "version -5", kInfo, "/info/version", -5);
  table.set("version_huge", "a version beyond int", kInvalid, "/info/version", 99999999999);
  table.set("option_without_kind", "an option without a kind", kInvalid, "/info/options/threshold",
            json::object());
  table.set("option_of_unknown_kind", "an option of no kind", kInvalid,
            "/info/options/threshold/kind", "colour");
  table.set("option_min_above_max", "an empty range", kInfo, "/info/options/threshold/min", 2.0);
  table.set("option_default_outside", "a default outside the range", kInfo,
            "/info/options/threshold/default", 7.0);
  table.set("options_list", "options in a list", kInvalid, "/info/options", json::array());
  table.set("output_of_no_kind", "an output of nothing", kInfo, "/info/output_type",
            json{{"size", "all"}});
  table.set("size_unknown", "a size that is none", kInvalid, "/info/output_type/size", "some");
  table.set("detections_number", "numbers for names", kInvalid, "/info/output_type/detections",
            json::array({1, 2}));
  const auto schema = [&](const char* name, const char* fault, json value) {
    table.set(std::string("schema_") + name, fault, kInfo, "/info/config_schema", value);
  };
  schema("list", "a schema in a list", json::array());
  schema("unknown_keyword", "a keyword that checks nothing", {{"minimun", 1}});
  schema("pattern", "a search that does not end",
         {{"properties", {{"a", {{"pattern", "(a*)*b"}}}}}});
  schema("remote", "a schema elsewhere", {{"$ref", "https://evil.example/schema"}});
  schema("file", "a schema in a file", {{"$ref", "file:///etc/passwd"}});
  schema("of_itself", "a schema that refers to itself", {{"allOf", {{{"$ref", "#"}}}}});
  schema("laughs", "references that double", laughs());
  schema("wrong_default", "a default that does not fit",
         {{"properties", {{"a", {{"type", "string"}, {"default", 1}}}}}});
  schema("slow_default", "a default of a thousand, each wrong by hundreds of schemas",
         {{"properties",
           {{"a",
             {{"default", json::array_t(1'000, 1)},
              {"items", {{"allOf", json::array_t(450, {{"minimum", 2}})}}}}}}}});
  schema("many_values", "ten thousand choices", {{"enum", json::array_t(10'000, 1)}});
  table.set("device_set_empty", "sets of no devices", kInfo, "/info/device_set",
            {{"kind", "GPU"}, {"count", 0}});
  table.set("device_set_negative", "sets of a negative number", kInfo, "/info/device_set",
            {{"kind", "GPU"}, {"count", -2147483648}});
  table.set("device_set_text", "a set in words", kInvalid, "/info/device_set", "two GPUs");
  table.set("calls_none", "no call at once", kInfo, "/info/max_concurrent_calls", 0);
  table.set("calls_negative", "a negative number of calls", kInvalid, "/info/max_concurrent_calls",
            -1);
  table.set("threshold_text", "a threshold in words", kInvalid, "/info/recognition_threshold",
            "low");
}

}  // namespace

HostileCases manifest_cases() {
  ManifestTable table;
  add_texts(table);
  add_fields(table);
  add_infos(table);
  return table.take();
}

}  // namespace vcap::test
