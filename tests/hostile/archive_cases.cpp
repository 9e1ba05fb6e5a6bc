// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "hostile/hostile_case.hpp"
#include "hostile/sound_capsule.hpp"
#include "support/zip_writer.hpp"

namespace vcap::test {
namespace {

using EntryChange = std::function<void(ZipEntry&)>;

// Indexes into sound_entries().
constexpr std::size_t kManifest = 0, kLabels = 1, kLibrary = 2, kModel = 3;

constexpr auto kText = ErrorCode::not_an_archive;
constexpr auto kAmbiguous = ErrorCode::ambiguous_archive;
constexpr auto kUnsafe = ErrorCode::unsafe_entry;
constexpr auto kUnsupported = ErrorCode::unsupported_entry;
constexpr auto kDamaged = ErrorCode::damaged_entry;
constexpr auto kLimit = ErrorCode::limit_exceeded;

std::vector<ZipEntry> changed(std::size_t place, const EntryChange& change) {
  std::vector<ZipEntry> entries = sound_entries();
  change(entries.at(place));
  return entries;
}

std::vector<ZipEntry> with_more(std::vector<ZipEntry> more) {
  std::vector<ZipEntry> entries = sound_entries();
  entries.insert(entries.end(), more.begin(), more.end());
  return entries;
}

ZipEntry utf8(std::string name) {
  ZipEntry entry = stored_entry(std::move(name), "x");
  entry.flags = 1 << 11;
  return entry;
}

/// The archive with other bytes at `offset` of the `which`-th record that begins with
/// `signature`.
std::string patched(std::string archive, const std::string& signature, std::size_t which,
                    std::size_t offset, const std::string& bytes) {
  std::size_t at = archive.find(signature);
  for (; which > 0; --which) at = archive.find(signature, at + 1);
  if (at == std::string::npos) throw std::logic_error("no such record");
  return archive.replace(at + offset, bytes.size(), bytes);
}

const std::string kLocal = "PK\x03\x04", kDirectory = "PK\x01\x02", kEnd = "PK\x05\x06";

class ArchiveTable {
 public:
  void add(std::string name, std::string fault, ErrorCode code,
           std::function<std::string()> bytes) {
    cases_.push_back({std::move(name), std::move(fault), code, std::move(bytes)});
  }
  void entry(std::string name, std::string fault, ErrorCode code, std::size_t place,
             EntryChange change) {
    add(std::move(name), std::move(fault), code, [=] { return zip_bytes(changed(place, change)); });
  }
  void more(std::string name, std::string fault, ErrorCode code, std::vector<ZipEntry> entries) {
    add(std::move(name), std::move(fault), code, [=] { return zip_bytes(with_more(entries)); });
  }
  void end(std::string name, std::string fault, ErrorCode code, ZipEnd end) {
    add(std::move(name), std::move(fault), code, [=] { return zip_bytes(sound_entries(), end); });
  }
  void patch(std::string name, std::string fault, ErrorCode code, std::string signature,
             std::size_t which, std::size_t offset, std::string bytes) {
    add(std::move(name), std::move(fault), code,
        [=] { return patched(zip_bytes(sound_entries()), signature, which, offset, bytes); });
  }
  HostileCases take() { return std::move(cases_); }

 private:
  HostileCases cases_;
};

void add_names(ArchiveTable& table) {
  struct Named {
    const char* name;
    const char* fault;
    std::string entry;
  };
  const std::string long_component(256, 'a');
  const Named names[] = {
      {"empty", "no name", ""},
      {"parent", "climbs out", "../evil"},
      {"parent_alone", "is the parent folder", ".."},
      {"parent_inside", "climbs in the middle", "a/../../evil"},
      {"parent_at_end", "ends with the parent", "a/.."},
      {"parents", "climbs far", "../../../../../../etc/cron.d/evil"},
      {"self", "has a '.' component", "a/./b"},
      {"self_alone", "is '.'", "."},
      {"self_first", "begins with '.'", "./a"},
      {"absolute", "begins at the root", "/etc/passwd"},
      {"absolute_twice", "begins with two slashes", "//host/share"},
      {"empty_component", "has two slashes", "a//b"},
      {"folder", "ends with a slash", "a/"},
      {"backslash", "a folder to Windows", "a\\b"},
      {"backslash_parent", "climbs out on Windows", "..\\evil"},
      {"backslash_absolute", "a share on Windows", "\\\\host\\share"},
      {"drive", "a drive", "C:/evil"},
      {"drive_relative", "relative to a drive", "C:evil"},
      {"drive_lower", "a drive in lower case", "c:/evil"},
      {"nul", "a zero byte", std::string("a\0b", 3)},
      {"nul_extension", "a zero byte hides the rest", std::string("a.txt\0.so", 9)},
      {"newline", "a newline", "a\nb"},
      {"return", "a carriage return", "a\rb"},
      {"escape", "a terminal's escape", "a\x1b[31mb"},
      {"tab", "a tab", "a\tb"},
      {"bell", "a bell", "a\x07"},
      {"delete", "DEL", "a\x7f"},
      {"long_component", "256 bytes in a component", long_component},
      {"long_component_inside", "256 bytes in the middle", "a/" + long_component + "/b"},
      {"very_long", "60000 bytes", std::string(60000, 'a')},
      {"longest", "65535 bytes", std::string(65535, 'a')},
      {"deep", "nine components", "a/b/c/d/e/f/g/h/i"},
      {"very_deep", "a thousand components",
       [] {
         std::string name = "a";
         for (int i = 0; i < 1000; ++i) name += "/a";
         return name;
       }()},
  };
  for (const Named& one : names)
    table.more(std::string("name.") + one.name, one.fault, kUnsafe, {stored_entry(one.entry, "x")});
  const Named letters[] = {
      {"latin1", "Latin-1, marked as UTF-8", "caf\xe9"},
      {"overlong", "an overlong slash",
       "a\xc0\xaf"
       "b"},
      {"overlong_dots", "overlong dots", "\xc0\xae\xc0\xae/evil"},
      {"surrogate", "half a surrogate pair", "a\xed\xa0\x80"},
      {"cut", "a letter cut short", "a\xc3"},
      {"beyond", "beyond Unicode", "a\xf4\x90\x80\x80"},
      {"not_nfc", "a letter and an accent", "cafe\xcc\x81"},
      {"hangul_not_nfc", "a Hangul syllable in parts", "\xe1\x84\x80\xe1\x85\xa1"},
      {"angstrom", "a letter with a canonical twin", "\xe2\x84\xab"},
      {"next_line", "C1 control", "a\xc2\x85"},
      {"line_separator", "a line separator", "a\xe2\x80\xa8"},
      {"right_to_left", "turns the direction", "exe.\xe2\x80\xaegpj"},
      {"isolate", "isolates a direction",
       "a\xe2\x81\xa6"
       "b"},
  };
  for (const Named& one : letters)
    table.more(std::string("name.") + one.name, one.fault, kUnsafe, {utf8(one.entry)});
  table.more("name.not_marked", "UTF-8 that is not marked so", kUnsafe,
             {stored_entry("caf\xc3\xa9", "x")});
}

void add_pairs(ArchiveTable& table) {
  const auto pair = [&](const char* name, const char* fault, ZipEntry one, ZipEntry two) {
    table.more(std::string("pair.") + name, fault, kUnsafe, {std::move(one), std::move(two)});
  };
  const auto file = [](const char* name) { return stored_entry(name, "x"); };
  pair("twice", "one name twice", file("a"), file("a"));
  pair("case", "two cases of a name", file("model"), file("MODEL"));
  pair("case_of_folder", "two cases of a folder", file("a/b"), file("A/b"));
  pair("case_beyond_ascii", "two cases beyond ASCII", utf8("\xc3\xa9"), utf8("\xc3\x89"));
  pair("case_of_greek_sigma", "two forms of sigma", utf8("\xcf\x82"), utf8("\xcf\x83"));
  pair("case_that_grows", "sharp s and SS",
       utf8("stra\xc3\x9f"
            "e"),
       file("STRASSE"));
  pair("parent", "a file and its child", file("a"), file("a/b"));
  pair("parent_in_case", "a file and a child of its other case", file("A"), file("a/b"));
  pair("parent_far", "a file and a far child", file("a/b"), file("a/b/c/d"));
  table.more("pair.manifest_twice", "two manifests", kUnsafe, {stored_entry("capsule.json", "{}")});
  table.more("pair.manifest_in_case", "a manifest of another case", kUnsafe,
             {stored_entry("Capsule.json", "{}")});
  table.more("pair.manifest_as_folder", "the manifest is a folder too", kUnsafe,
             {stored_entry("capsule.json/a", "x")});
}

void add_kinds(ArchiveTable& table) {
  for (const int method :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 19, 20, 93, 94, 95, 96, 97, 98, 99, 65535})
    table.entry("method." + std::to_string(method), "packed by another method", kUnsupported,
                kModel, [=](ZipEntry& e) { e.method = static_cast<std::uint16_t>(method); });
  for (const int bit : {0, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15})
    table.entry("flag." + std::to_string(bit), "encrypted, streamed, patched or reserved",
                kUnsupported, kModel,
                [=](ZipEntry& e) { e.flags = static_cast<std::uint16_t>(1 << bit); });
  const std::pair<const char*, unsigned> modes[] = {{"pipe", S_IFIFO | 0644},
                                                    {"character_device", S_IFCHR | 0644},
                                                    {"folder", S_IFDIR | 0755},
                                                    {"block_device", S_IFBLK | 0644},
                                                    {"link", S_IFLNK | 0777},
                                                    {"socket", S_IFSOCK | 0644},
                                                    {"unknown", 0170000 | 0644},
                                                    {"setuid", S_IFREG | S_ISUID | 0755},
                                                    {"setgid", S_IFREG | S_ISGID | 0755},
                                                    {"sticky", S_IFREG | S_ISVTX | 0755},
                                                    {"setuid_alone", S_ISUID | 0755}};
  for (const auto& [name, mode] : modes)
    table.entry(std::string("mode.") + name, "no plain regular file", kUnsafe, kLabels,
                [mode = mode](ZipEntry& e) { e.attributes = mode << 16; });
  table.entry("mode.link_by_dos", "a link, made by DOS", kUnsafe, kLabels, [](ZipEntry& e) {
    e.made_by = 20;
    e.attributes = static_cast<unsigned>(S_IFLNK | 0777) << 16;
  });
  table.entry("mode.link_to_passwd", "a link to a file of the system", kUnsafe, kLabels,
              [](ZipEntry& e) {
                e = stored_entry("labels.txt", "/etc/passwd");
                e.attributes = static_cast<unsigned>(S_IFLNK | 0777) << 16;
              });
  table.entry("mode.dos_folder", "marked as a folder", kUnsafe, kLabels, [](ZipEntry& e) {
    e.made_by = 20;
    e.attributes = 0x10;
  });
}

void add_headers(ArchiveTable& table) {
  const auto differ = [&](const char* name, const char* fault, std::size_t offset,
                          const std::string& bytes) {
    for (const std::size_t place : {kLabels, kModel})
      table.patch("headers." + std::string(name) + (place == kModel ? "_last" : "_second"), fault,
                  kAmbiguous, kLocal, place, offset, bytes);
  };
  differ("flags", "two kinds of flags", 6, u16(2));
  differ("checksum", "two checksums", 14, u32(0x12345678));
  differ("size", "two sizes", 22, u32(1));
  differ("packed_size", "two packed sizes", 18, u32(1));
  differ("name", "two names of one length", 30, "L");
  table.patch("headers.method", "stored here, deflated there", kAmbiguous, kLocal, kLabels, 8,
              u16(8));
  table.entry("headers.other_name", "two names", kAmbiguous, kLabels,
              [](ZipEntry& e) { e.local_name = "other.txt"; });
  table.entry("headers.parent_in_local_name", "climbs out in one header", kAmbiguous, kLabels,
              [](ZipEntry& e) { e.local_name = "../evil.txt"; });
  table.entry("headers.stored_of_two_sizes", "stored, of two sizes", kAmbiguous, kLabels,
              [](ZipEntry& e) { e.size += 1; });
  const auto extra = [&](const char* name, const char* fault, ErrorCode code, std::string both,
                         std::string local) {
    table.entry(std::string("extra.") + name, fault, code, kLabels, [=](ZipEntry& e) {
      e.extra = both;
      e.local_extra = local;
    });
  };
  const std::string second_name = u16(0x7075) + u16(6) + "\x01" + u32(0) + "b";
  extra("second_name", "a second name in both headers", kAmbiguous, second_name, "");
  extra("second_local_name", "a second name in one header", kAmbiguous, "", second_name);
  extra("cut_header", "an extra field's header cut short", kText, "", "\x01");
  extra("cut_field", "an extra field cut short", kText, "", u16(1) + u16(9));
  extra("zip64_for_nothing", "a zip64 field with nothing to say", kText, u16(1) + u16(8) + u64(4),
        "");
  extra("zip64_local_for_nothing", "a zip64 field in one header", kText, "",
        u16(1) + u16(16) + u64(4) + u64(4));
  extra("zip64_twice", "two zip64 fields", kAmbiguous, u16(1) + u16(0) + u16(1) + u16(0), "");
  table.entry("extra.zip64_missing", "an offset in a zip64 field that is not there", kText, kLabels,
              [](ZipEntry& e) { e.offset = 0xffffffff; });
  table.entry("extra.zip64_size_missing", "a size in a zip64 field that is not there", kText,
              kLabels, [](ZipEntry& e) { e.packed_size = 0xffffffff; });
  table.patch("extra.local_beyond_end", "extra fields beyond the end", kText, kLocal, kModel, 28,
              u16(0xffff));
  table.patch("extra.directory_beyond_end", "extra fields beyond the directory", kText, kDirectory,
              kModel, 30, u16(0xffff));
  table.patch("headers.name_beyond_directory", "a name beyond the directory", kText, kDirectory,
              kModel, 28, u16(0xffff));
  table.patch("headers.entry_comment_beyond_directory", "a comment beyond the directory", kText,
              kDirectory, kModel, 32, u16(0xffff));
  table.patch("headers.on_second_disk", "an entry on a second disk", kUnsupported, kDirectory,
              kModel, 34, u16(1));
  table.patch("headers.no_directory_header", "a directory header of another kind", kText,
              kDirectory, kModel, 0, "PK\x01\x03");
  table.patch("headers.no_local_header", "a local header of another kind", kText, kLocal, kModel, 0,
              "PK\x03\x05");
}

/// A sound archive has these bytes at `offset` of both headers of labels.txt.
std::string with_both(std::size_t local_offset, std::size_t directory_offset,
                      const std::string& bytes) {
  const std::string once =
      patched(zip_bytes(sound_entries()), kLocal, kLabels, local_offset, bytes);
  return patched(once, kDirectory, kLabels, directory_offset, bytes);
}

/// Fields that other writers fill differently, and no reader needs. There is one form.
void add_form(ArchiveTable& table) {
  struct Field {
    const char* name;
    std::size_t offset;
    std::vector<std::string> values;
  };
  const Field fields[] = {
      {"made_by",
       4,
       {u16(0), u16(20), u16(3 << 8 | 30), u16(3 << 8 | 63), u16(19 << 8 | 20), u16(0xffff)}},
      {"version", 6, {u16(0), u16(10), u16(45), u16(63), u16(0xffff)}},
      {"internal", 36, {u16(1), u16(2), u16(0x8000), u16(0xffff)}},
      {"external",
       38,
       {u32(0), u32(1), u32(0x20), u32(0644u << 16), u32((S_IFREG | 0600u) << 16),
        u32((S_IFREG | 0755u) << 16), u32((S_IFREG | 0444u) << 16),
        u32((S_IFREG | 0644u) << 16 | 1), u32((S_IFREG | 0644u) << 16 | 0x8000)}}};
  for (const Field& field : fields)
    for (std::size_t i = 0; i < field.values.size(); ++i)
      table.patch("form." + std::string(field.name) + "_" + std::to_string(i),
                  "a field of the directory that vcap writes otherwise", kAmbiguous, kDirectory,
                  kLabels, field.offset, field.values[i]);
  const std::pair<const char*, std::string> local_versions[] = {
      {"0", u16(0)}, {"10", u16(10)}, {"45", u16(45)}, {"63", u16(63)}};
  for (const auto& [name, bytes] : local_versions)
    table.patch(std::string("form.local_version_") + name, "another version in the local header",
                kAmbiguous, kLocal, kLabels, 4, bytes);
  const std::pair<const char*, std::string> times[] = {{"second", u32(33u << 16 | 1)},
                                                       {"noon", u32(33u << 16 | 12u << 11)},
                                                       {"day", u32(34u << 16)},
                                                       {"year", u32((33u + (40u << 9)) << 16)},
                                                       {"none", u32(0)}};
  for (const auto& [name, bytes] : times)
    table.add(std::string("form.time_") + name, "another time, in both headers", kAmbiguous,
              [bytes = bytes] { return with_both(10, 12, bytes); });
  table.add("form.flag_utf8", "an ASCII name that is marked as UTF-8", kAmbiguous,
            [] { return with_both(6, 8, u16(1 << 11)); });
  for (const int bit : {1, 2})
    table.add("form.flag_" + std::to_string(bit), "the effort of a deflate stream", kUnsupported,
              [bit] { return with_both(6, 8, u16(1u << bit)); });
}

/// The padding and the other extra fields.
void add_padding(ArchiveTable& table) {
  const auto padding = [&](const char* name, const char* fault,
                           const std::function<std::string(std::uint64_t)>& local) {
    // Of the first entry, whose header begins at 0 and whose name has 12 bytes.
    table.entry(std::string("padding.") + name, fault, kAmbiguous, kManifest, [=](ZipEntry& e) {
      e.is_padded = false;
      e.local_extra = local(30 + e.name.size());
    });
  };
  const auto field = [](std::uint64_t id, const std::string& bytes) {
    return u16(id) + u16(bytes.size()) + bytes;
  };
  padding("none", "no padding", [](std::uint64_t) { return std::string(); });
  padding("short", "data at an odd place", [=](std::uint64_t) { return field(0xd935, u16(4096)); });
  padding("twice", "two pages of padding", [](std::uint64_t used) {
    std::string one = zip_padding(used);
    one += std::string(4096, '\0');
    return one.replace(2, 2, u16(one.size() - 4));
  });
  for (const unsigned alignment : {0u, 1u, 4u, 512u, 4095u, 8192u, 0xffffu})
    padding(("alignment_" + std::to_string(alignment)).c_str(), "another alignment",
            [alignment](std::uint64_t used) {
              return zip_padding(used).replace(4, 2, u16(alignment));
            });
  for (const std::size_t place : {6u, 7u, 100u, 2000u, 4000u, 4049u})
    padding(("byte_" + std::to_string(place)).c_str(), "a byte in the padding",
            [place](std::uint64_t used) {
              std::string one = zip_padding(used);
              one.at(place) = '\x01';
              return one;
            });
  padding("text", "a text in the padding",
          [](std::uint64_t used) { return zip_padding(used).replace(6, 13, "#!/bin/sh\nrm\n"); });
  padding("other_id", "padding by another field",
          [](std::uint64_t used) { return zip_padding(used).replace(0, 2, u16(0xcafe)); });
  padding("two_fields", "padding by two fields", [=](std::uint64_t used) {
    const std::string first = field(0xcafe, "");
    return first + zip_padding(used + first.size());
  });
  const std::pair<const char*, std::string> extras[] = {
      {"unknown", field(0xcafe, "x")},
      {"unix_time", field(0x5455, std::string("\x01") + u32(1))},
      {"unix_owner", field(0x7875, std::string("\x01\x04") + u32(0) + "\x04" + u32(0))},
      {"ntfs", field(0x000a, std::string(32, '\0'))},
      {"comment", field(0x6375, "\x01" + u32(0) + "c")},
      {"empty", field(0xcafe, "")}};
  for (const auto& [name, bytes] : extras) {
    table.entry(std::string("padding.both_") + name, "an extra field in both headers", kAmbiguous,
                kLabels, [bytes = bytes](ZipEntry& e) { e.extra = bytes; });
    table.entry(std::string("padding.local_") + name, "an extra field in one header", kAmbiguous,
                kLabels, [bytes = bytes](ZipEntry& e) { e.local_extra = bytes; });
  }
}

/// The bytes of one entry are part of another entry: two files share bytes of the archive.
std::string quoted_overlap() {
  constexpr std::uint64_t kWithin = 4096;  // where the data of the first entry begins
  const ZipEntry inner = stored_entry("inner", "payload");
  const ZipEntry outer = stored_entry("outer", local_header(inner, kWithin) + inner.packed);
  const std::string body = local_header(outer, 0) + outer.packed;
  // The second entry has no bytes of its own; its directory header points into the first entry.
  const std::string directory = directory_header(outer, 0) + directory_header(inner, kWithin);
  return body + directory + "PK\x05\x06" + u16(0) + u16(0) + u16(2) + u16(2) +
         u32(directory.size()) + u32(body.size()) + u16(0);
}

void add_layout(ArchiveTable& table) {
  const std::pair<const char*, std::string> heads[] = {{"script", "#!/bin/sh\nexit\n"},
                                                       {"elf",
                                                        "\x7f"
                                                        "ELF"},
                                                       {"exe", "MZ"},
                                                       {"zeros", std::string(512, '\0')},
                                                       {"archive", zip_bytes(sound_entries())}};
  for (const auto& [name, bytes] : heads)
    table.end(std::string("layout.prefix_") + name, "something before the archive", kAmbiguous,
              {.prefix = bytes});
  const std::pair<const char*, std::string> tails[] = {
      {"byte", "x"}, {"newline", "\n"}, {"zeros", std::string(512, '\0')}};
  for (const auto& [name, bytes] : tails)
    table.end(std::string("layout.trailing_") + name, "something behind the archive", kText,
              {.trailing = bytes});
  table.end("layout.trailing_archive", "another archive behind it", kAmbiguous,
            {.trailing = zip_bytes({stored_entry("a", "x")})});
  for (std::size_t place = 0; place < sound_entries().size(); ++place)
    table.entry("layout.gap_before_entry_" + std::to_string(place), "bytes of no entry", kAmbiguous,
                place, [](ZipEntry& e) { e.gap = "gap"; });
  table.end("layout.gap_before_directory", "bytes of no entry", kAmbiguous,
            {.before_directory = "gap"});
  table.end("layout.gap_before_end", "bytes of no record", kAmbiguous, {.before_end = "gap"});
  table.entry("layout.shared_bytes", "two entries of the same bytes", kAmbiguous, kLabels,
              [](ZipEntry& e) {
                const ZipEntry manifest = sound_entries()[kManifest];
                e = manifest;
                e.name = "capsule.jsoN";
                e.local_name = "capsule.json";
                e.offset = 0;
              });
  table.add("layout.quoted_overlap", "an entry within another's bytes", kAmbiguous, quoted_overlap);
  table.add("layout.same_local_header", "one local header for two entries", kAmbiguous, [] {
    return zip_bytes(
        with_more({with(sound_entries()[kManifest], [](ZipEntry& e) { e.offset = 0; })}));
  });
  table.entry("layout.offset_beyond_end", "begins beyond the end", kText, kModel,
              [](ZipEntry& e) { e.offset = 0x7fffffff; });
  table.entry("layout.offset_into_nothing", "begins where no header is", kText, kModel,
              [](ZipEntry& e) { e.offset = 3; });
  table.entry("layout.data_beyond_end", "data beyond the end", kText, kLabels, [](ZipEntry& e) {
    e.packed_size = 0x7ffffff0;
    e.size = 0x7ffffff0;
  });
  table.add("layout.data_over_directory", "data that reaches into the directory", kAmbiguous, [] {
    std::vector<ZipEntry> entries = sound_entries();
    ZipEntry last = stored_entry("last", "x");
    last.packed_size = 9;
    last.size = 9;
    entries.push_back(last);
    return zip_bytes(entries);
  });
}

void add_orders(ArchiveTable& table) {
  const auto order = [&](const char* name, std::vector<std::size_t> places) {
    table.add(std::string("order.") + name, "another order of the files", kAmbiguous, [=] {
      std::vector<ZipEntry> entries;
      for (const std::size_t place : places) entries.push_back(sound_entries()[place]);
      return zip_bytes(entries);
    });
  };
  order("manifest_last", {kLabels, kLibrary, kModel, kManifest});
  order("manifest_second", {kLabels, kManifest, kLibrary, kModel});
  order("reversed", {kModel, kLibrary, kLabels, kManifest});
  order("last_two", {kManifest, kLabels, kModel, kLibrary});
  order("first_files", {kManifest, kLibrary, kLabels, kModel});
  table.add("order.directory", "the directory in another order than the data", kAmbiguous, [] {
    const std::string plain = zip_bytes(sound_entries());
    const std::size_t begin = plain.find(kDirectory);
    const std::size_t second = plain.find(kDirectory, begin + 1);
    const std::size_t third = plain.find(kDirectory, second + 1);
    return plain.substr(0, second) +
           plain.substr(third, plain.find(kDirectory, third + 1) - third) +
           plain.substr(second, third - second) + plain.substr(plain.find(kDirectory, third + 1));
  });
}

void add_ends(ArchiveTable& table) {
  table.end("end.count_less", "an entry that is not counted", kAmbiguous, {.count = 3});
  table.end("end.count_none", "no entry is counted", kAmbiguous, {.count = 0});
  table.end("end.count_more", "an entry more than there is", kText, {.count = 5});
  table.end("end.count_many", "entries beyond the directory", kText, {.count = 4000});
  table.patch("end.two_counts", "two counts", kAmbiguous, kEnd, 0, 8, u16(3));
  table.end("end.disk", "a second disk", kUnsupported, {.disk = 1});
  table.patch("end.disk_of_directory", "a directory on a second disk", kUnsupported, kEnd, 0, 6,
              u16(1));
  table.end("end.directory_smaller", "a smaller directory", kAmbiguous, {.directory_size = 7});
  table.end("end.directory_empty", "no directory", kAmbiguous, {.directory_size = 0});
  table.end("end.directory_larger", "a directory beyond the archive", kAmbiguous,
            {.directory_size = 0x7fffffff});
  table.end("end.directory_elsewhere", "a directory elsewhere", kAmbiguous,
            {.directory_offset = 0});
  table.end("end.directory_beyond_end", "a directory beyond the end", kAmbiguous,
            {.directory_offset = 0x7fffffff});
  table.end("end.comment_with_end_record", "an end record in the comment", kAmbiguous,
            {.comment = zip_bytes({})});
  table.end("end.comment_with_archive", "an archive in the comment", kAmbiguous,
            {.comment = zip_bytes({stored_entry("a", "x")})});
  table.patch("end.comment_too_long", "a comment beyond the end", kText, kEnd, 0, 20, u16(9));
  table.patch("end.comment_longest", "a comment far beyond the end", kText, kEnd, 0, 20,
              u16(0xffff));

  const auto locator = [](std::uint64_t at, std::uint32_t disk = 0, std::uint32_t disks = 1) {
    return "PK\x06\x07" + u32(disk) + u64(at) + u32(disks);
  };
  table.end("zip64.locator_for_nothing", "a locator that nobody needs", kAmbiguous,
            {.before_end = locator(0)});
  table.end("zip64.no_locator", "a zip64 offset without a locator", kAmbiguous,
            {.directory_offset = 0xffffffff});
  table.end("zip64.no_locator_for_count", "a zip64 count without a locator", kAmbiguous,
            {.count = 0xffff});
  table.end("zip64.no_record", "a locator without a record", kAmbiguous,
            {.before_end = locator(1), .directory_offset = 0xffffffff});
  table.end("zip64.locator_elsewhere", "a locator that points beyond the end", kAmbiguous,
            {.before_end = locator(0x7fffffffffffffff), .directory_offset = 0xffffffff});
  struct Record {
    const char* name;
    const char* fault;
    ErrorCode code;
    std::uint64_t rest = 44, count = 4, disk_count = 4, size_less = 0, offset_more = 0;
    std::uint32_t disk = 0, directory_disk = 0, locator_disk = 0, disks = 1;
  };
  const Record records[] = {
      {.name = "rest", .fault = "a record of another size", .code = kAmbiguous, .rest = 45},
      {.name = "rest_huge", .fault = "a record of any size", .code = kAmbiguous, .rest = ~0ull},
      {.name = "count", .fault = "another count of entries", .code = kAmbiguous, .count = 5},
      {.name = "counts", .fault = "two counts of entries", .code = kAmbiguous, .disk_count = 3},
      {.name = "size",
       .fault = "another size of the directory",
       .code = kAmbiguous,
       .size_less = 1},
      {.name = "offset",
       .fault = "another place of the directory",
       .code = kAmbiguous,
       .offset_more = 1},
      {.name = "offset_overflows",
       .fault = "a place beyond all numbers",
       .code = kAmbiguous,
       .offset_more = ~0ull - 20000},
      {.name = "disk", .fault = "a second disk", .code = kUnsupported, .disk = 1},
      {.name = "directory_disk",
       .fault = "a directory on a second disk",
       .code = kUnsupported,
       .directory_disk = 1},
      {.name = "locator_disk",
       .fault = "a record on a second disk",
       .code = kUnsupported,
       .locator_disk = 1},
      {.name = "disks", .fault = "two disks", .code = kUnsupported, .disks = 2},
  };
  for (const Record& one : records)
    table.add(std::string("zip64.") + one.name, one.fault, one.code, [=] {
      const std::vector<ZipEntry> entries = sound_entries();
      std::string plain = zip_bytes(entries);
      const std::size_t end = plain.rfind(kEnd);
      const std::size_t directory = plain.find(kDirectory);
      const std::string record = "PK\x06\x06" + u64(one.rest) + u16(45) + u16(45) + u32(one.disk) +
                                 u32(one.directory_disk) + u64(one.disk_count) + u64(one.count) +
                                 u64(end - directory - one.size_less) +
                                 u64(directory + one.offset_more);
      return zip_bytes(entries, {.before_end = record + locator(end, one.locator_disk, one.disks),
                                 .directory_offset = 0xffffffff});
    });
}

/// vcap writes no deflated entries, and reads none, sound or not.
void add_deflated(ArchiveTable& table) {
  const auto both = [&](const char* name, const char* fault, const EntryChange& change) {
    table.entry("deflated.model_" + std::string(name), fault, kUnsupported, kModel,
                [=](ZipEntry& e) {
                  e = deflated_entry("model.bin", std::string(2000, 'w'));
                  change(e);
                });
    table.entry("deflated.manifest_" + std::string(name), fault, kUnsupported, kManifest,
                [=](ZipEntry& e) {
                  e = deflated_entry("capsule.json", sound_manifest());
                  change(e);
                });
  };
  both("sound", "a sound deflate stream", [](ZipEntry&) {});
  both("checksum", "another checksum", [](ZipEntry& e) { e.crc ^= 1; });
  both("junk_behind", "bytes behind the end of the stream",
       [](ZipEntry& e) { e.packed += "junk"; });
  both("second_stream", "a second stream behind the first",
       [](ZipEntry& e) { e.packed += deflated("more"); });
  both("cut", "a stream cut short", [](ZipEntry& e) { e.packed.pop_back(); });
  both("no_stream", "no deflate stream",
       [](ZipEntry& e) { e.packed.assign(e.packed.size(), '\xff'); });
  both("size_more", "declares more bytes", [](ZipEntry& e) { e.size += 1; });
  both("size_less", "declares fewer bytes", [](ZipEntry& e) { e.size -= 1; });
  both("other_bytes", "other bytes than the manifest says",
       [](ZipEntry& e) { e = deflated_entry(e.name, std::string(2000, 'v')); });
  table.entry("deflated.zeros", "zeros, 1000 to 1", kUnsupported, kModel,
              [](ZipEntry& e) { e = deflated_entry("model.bin", std::string(20'000'000, '\0')); });
  table.entry("deflated.declared", "1 GB out of 12 bytes", kUnsupported, kModel, [](ZipEntry& e) {
    e.method = 8;
    e.packed.resize(12);
    e.size = 1'000'000'000;
  });
  table.entry("deflated.from_nothing", "a byte out of no bytes", kUnsupported, kModel,
              [](ZipEntry& e) {
                e.method = 8;
                e.packed.clear();
                e.size = 1000;
              });
}

void add_data(ArchiveTable& table) {
  table.entry("data.manifest_stored_checksum", "another checksum, stored", kDamaged, kManifest,
              [](ZipEntry& e) { e.crc ^= 1; });
  table.entry("data.model_checksum", "another checksum", kDamaged, kModel,
              [](ZipEntry& e) { e.crc ^= 1; });
  table.entry("data.library_checksum", "another checksum", kDamaged, kLibrary,
              [](ZipEntry& e) { e.crc = 0; });
  table.entry("data.stored_other_bytes", "other bytes than the manifest says",
              ErrorCode::digest_mismatch, kLabels,
              [](ZipEntry& e) { e = stored_entry("labels.txt", "persoN\nface\n"); });
  table.entry("data.model_other_bytes", "other bytes than the manifest says",
              ErrorCode::digest_mismatch, kModel,
              [](ZipEntry& e) { e = stored_entry("model.bin", std::string(2000, 'v')); });
  table.entry("data.shorter", "fewer bytes than the manifest says", ErrorCode::digest_mismatch,
              kLabels, [](ZipEntry& e) { e = stored_entry("labels.txt", "person"); });
  table.more("data.unlisted", "a file that the manifest does not list", ErrorCode::unlisted_entry,
             {stored_entry("extra.txt", "x")});
  table.add("data.missing", "a file that is not there", ErrorCode::missing_entry, [] {
    std::vector<ZipEntry> entries = sound_entries();
    entries.erase(entries.begin() + kLabels);
    return zip_bytes(entries);
  });
  table.add("data.no_manifest", "no manifest", ErrorCode::no_manifest, [] {
    std::vector<ZipEntry> entries = sound_entries();
    entries.erase(entries.begin() + kManifest);
    return zip_bytes(entries);
  });
  table.add("data.empty_archive", "an archive of nothing", ErrorCode::no_manifest,
            [] { return zip_bytes({}); });
}

/// Without padding, which would take 4 KiB each.
void add_empty(std::vector<ZipEntry>& entries, int count) {
  for (int i = 0; i < count; ++i)
    entries.push_back(
        with(stored_entry("f" + std::to_string(i), ""), [](ZipEntry& e) { e.is_padded = false; }));
}

void add_limits(ArchiveTable& table) {
  table.add("limit.entries", "5000 entries", kLimit, [] {
    std::vector<ZipEntry> entries = sound_entries();
    add_empty(entries, 5000);
    return zip_bytes(entries);
  });
  table.add("limit.entries_65000", "65000 entries", kLimit, [] {
    std::vector<ZipEntry> entries = sound_entries();
    add_empty(entries, 65000);
    return zip_bytes(entries);
  });
  table.add("limit.directory", "a directory of 9 MiB", kLimit, [] {
    std::vector<ZipEntry> entries = sound_entries();
    const std::string part(250, 'd');
    for (int i = 0; i < 4000; ++i) {
      std::string name = std::to_string(i);
      for (int depth = 0; depth < 7; ++depth) name += "/" + part;
      entries.push_back(stored_entry(name, ""));
      entries.back().extra = u16(0xcafe) + u16(600) + std::string(600, 'x');
      entries.back().is_padded = false;
    }
    return zip_bytes(entries);
  });
  table.entry("limit.file", "9 GiB in one file", kLimit, kModel, [](ZipEntry& e) {
    e.extra = u16(1) + u16(16) + u64(9ull << 30) + u64(9ull << 30);
    e.size = 0xffffffff;
    e.packed_size = 0xffffffff;
  });
  table.entry("limit.manifest", "a manifest of 2 MiB", kLimit, kManifest, [](ZipEntry& e) {
    e = stored_entry("capsule.json", sound_manifest() + std::string(2 << 20, ' '));
  });
}

void add_others(ArchiveTable& table) {
  const std::string whole = zip_bytes(sound_entries());
  for (int i = 1; i < 20; ++i)
    table.add("cut." + std::to_string(i), "cut short after " + std::to_string(i) + " of 20 parts",
              kText, [=] { return whole.substr(0, whole.size() * static_cast<unsigned>(i) / 20); });
  table.add("cut.last_byte", "its last byte is missing", kText,
            [=] { return whole.substr(0, whole.size() - 1); });
  table.add("cut.first_byte", "its first byte is missing", kAmbiguous,
            [=] { return whole.substr(1); });
  const std::pair<const char*, std::string> others[] = {
      {"empty", ""},
      {"text", "hello, world, this is no archive at all"},
      {"zeros", std::string(65536, '\0')},
      {"ones", std::string(65536, '\xff')},
      {"gzip", "\x1f\x8b\x08" + std::string(60, 'x')},
      {"seven_zip", "7z\xbc\xaf\x27\x1c" + std::string(60, 'x')},
      {"png", "\x89PNG\r\n\x1a\n" + std::string(60, 'x')},
      {"elf",
       "\x7f"
       "ELF" +
           std::string(60, '\0')},
      {"html", "<!DOCTYPE html><html><body>404 Not Found</body></html>"},
      {"signatures_alone", kLocal + kDirectory},
      {"end_cut_short", kEnd + std::string(17, '\0')},
      {"many_signatures", [] {
         std::string bytes;
         for (int i = 0; i < 16000; ++i) bytes += "PK\x05\x06";
         return bytes;
       }()}};
  for (const auto& [name, bytes] : others)
    table.add(std::string("other.") + name, "no zip archive", kText,
              [bytes = bytes] { return bytes; });
}

}  // namespace

HostileCases archive_cases() {
  ArchiveTable table;
  add_names(table);
  add_pairs(table);
  add_kinds(table);
  add_headers(table);
  add_form(table);
  add_padding(table);
  add_layout(table);
  add_orders(table);
  add_ends(table);
  add_deflated(table);
  add_data(table);
  add_limits(table);
  add_others(table);
  return table.take();
}

}  // namespace vcap::test
