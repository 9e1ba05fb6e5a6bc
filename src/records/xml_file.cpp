// SPDX-License-Identifier: Apache-2.0
#include "records/xml_file.hpp"

#include <array>
#include <cstddef>
#include <exception>
#include <fstream>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <expat.h>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

/// Expat's callbacks. An exception must not pass through expat, so it waits until XML_Parse() has
/// returned.
class XmlFile::Parser {
 public:
  Parser(const InputFile& input, XmlCallbacks callbacks, int most_levels)
      : input_(input),
        callbacks_(std::move(callbacks)),
        most_levels_(static_cast<std::size_t>(most_levels)),
        parser_(XML_ParserCreate(nullptr)) {
    if (!parser_) throw std::bad_alloc();
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const XML_Char* name, const XML_Char**) {
          self_of(self).guard([=](Parser& own) { own.begin(name); });
        },
        [](void* self, const XML_Char*) { self_of(self).guard([](Parser& own) { own.end(); }); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const XML_Char* text, int size) {
      self_of(self).guard([=](Parser& own) { own.add_text(text, static_cast<std::size_t>(size)); });
    });
    XML_SetStartDoctypeDeclHandler(
        parser_.get(), [](void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
          self_of(self).guard([](Parser& own) {
            own.fail("it has a document type (<!DOCTYPE), which is not allowed; remove it");
          });
        });
  }

  void parse(const std::string& content) {
    const XML_Status status =
        XML_Parse(parser_.get(), content.data(), static_cast<int>(content.size()), XML_TRUE);
    if (failure_) std::rethrow_exception(failure_);
    if (status == XML_STATUS_OK) return;
    const XML_Error error = XML_GetErrorCode(parser_.get());
    if (error == XML_ERROR_NO_MEMORY) throw std::bad_alloc();
    fail(std::string("it is not XML: ") + XML_ErrorString(error) +
         "; repair the file, or leave it out");
  }

  std::string place() const {
    return "line " + std::to_string(XML_GetCurrentLineNumber(parser_.get()));
  }

 private:
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };
  struct Level {
    std::size_t path_size;  ///< of the parent
    std::string text;
  };

  static Parser& self_of(void* self) { return *static_cast<Parser*>(self); }
  [[noreturn]] void fail(const std::string& message) const { input_.fail(place(), message); }

  template <class Action>
  void guard(const Action& action) noexcept {
    if (failure_) return;  // expat may call a little more after a stop
    try {
      action(*this);
    } catch (...) {
      failure_ = std::current_exception();
      XML_StopParser(parser_.get(), XML_FALSE);
    }
  }

  void begin(const char* name) {
    if (levels_.size() == most_levels_)
      fail("its elements are nested more than " + std::to_string(most_levels_) +
           " levels deep; leave the file out");
    levels_.push_back({path_.size(), {}});
    if (!path_.empty()) path_ += '/';
    path_ += name;
    if (callbacks_.begin) callbacks_.begin(path_);
  }

  void end() {
    if (callbacks_.end) callbacks_.end(path_, levels_.back().text);
    path_.resize(levels_.back().path_size);
    levels_.pop_back();
  }

  void add_text(const char* text, std::size_t size) {
    if (!levels_.empty()) levels_.back().text.append(text, size);
  }

  const InputFile& input_;
  const XmlCallbacks callbacks_;
  const std::size_t most_levels_;
  std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser_;
  std::string path_;
  std::vector<Level> levels_;
  std::exception_ptr failure_;
};

namespace {

/// The whole file, read only as far as it may be long: a file may be a device without an end.
std::string read_bounded(const InputFile& input, std::uint64_t most) {
  std::ifstream file = input.open();
  std::string content;
  std::array<char, 1 << 16> buffer{};
  do {
    file.read(buffer.data(), buffer.size());
    content.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
    if (content.size() > most)
      input.fail("", "it has more than " + std::to_string(most) + " bytes; leave the file out");
  } while (file);
  if (file.bad())
    throw SourceError(ErrorCode::source_read, input.path() + " cannot be read further");
  return content;
}

}  // namespace

XmlFile::XmlFile(const InputFile& input, XmlCallbacks callbacks, const XmlBounds& bounds)
    : input_(input),
      most_bytes_(bounds.bytes),
      parser_(std::make_unique<Parser>(input, std::move(callbacks), bounds.levels)) {}

XmlFile::~XmlFile() = default;

/// In one piece, because expat looks at a piece that ends within a token again with the next one.
void XmlFile::read() { parser_->parse(read_bounded(input_, most_bytes_)); }

std::string XmlFile::place() const { return parser_->place(); }

}  // namespace vcap
