// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vcap {

/// What libav may open for a source: containers and protocols, by libav's names. A playlist is in
/// none of the lists but its own, because it names further files and addresses. Thread safety:
/// value.
struct AvAccess {
  std::string formats{};    ///< with commas between them
  std::string protocols{};  ///< likewise; empty: what libav allows for the address
  /// The file names others, which may name it. So opening it has a bound.
  bool names_files = false;

  /// A file that has all its data in itself.
  static AvAccess stored_file();
  /// What an address on the network may give: a container, or a camera's stream.
  static AvAccess network();
  /// An HLS playlist and the files that it names; `remote`: on a server, where it must not name
  /// files of this machine.
  static AvAccess hls(bool remote);
  /// An ffconcat script and the files that it names, in its folder or below.
  static AvAccess ffconcat();
};

}  // namespace vcap
