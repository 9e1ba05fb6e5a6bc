// SPDX-License-Identifier: Apache-2.0
// Where the files of a test lie. They are compiled into one small source, so that the objects of
// all others are the same in any folder.
#pragma once

#include <string>

namespace vcap::test {

/// The full path of a file that is built, such as "src/cli/vcap".
std::string built(const std::string& path);

/// The full path of a file of the repository, such as "tests/support/rtsp_server.py"; of its root
/// if `path` is empty.
std::string in_sources(const std::string& path);

}  // namespace vcap::test
