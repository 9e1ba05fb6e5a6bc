// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "records/input_file.hpp"

namespace vcap {

/// What read_xml() finds. A path names an element by its parents: "annotation/object/name".
struct XmlCallbacks {
  std::function<void(const std::string& path)> begin{};
  /// `text`: what is between the element's tags, without the text of elements within it.
  std::function<void(const std::string& path, const std::string& text)> end{};
};

/// The bounds of a file of XML. Thread safety: value.
struct XmlBounds {
  std::uint64_t bytes = 64 << 20;
  int levels = 32;  ///< of elements within each other
};

/// A file of XML that is read element by element. Thread safety: thread-compatible.
///
/// A document type is refused, since it may define entities that expand to a multiple of the file,
/// or that are other files. So only the five entities of XML itself, and references to characters,
/// are known. Texts are UTF-8, whatever the encoding of the file.
class XmlFile {
 public:
  /// `input`: outlives it.
  XmlFile(const InputFile& input, XmlCallbacks callbacks, const XmlBounds& bounds = {});
  ~XmlFile();
  XmlFile(const XmlFile&) = delete;
  XmlFile& operator=(const XmlFile&) = delete;

  /// Calls back for each element; exceptions of callbacks leave it. Throws SourceError if the file
  /// cannot be read, and InvalidArgument with file and line if it is beyond the bounds or not XML.
  /// No second call is allowed.
  void read();

  /// Where the reading is, for messages of callbacks: "line 7".
  std::string place() const;

 private:
  class Parser;

  const InputFile& input_;
  const std::uint64_t most_bytes_;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace vcap
