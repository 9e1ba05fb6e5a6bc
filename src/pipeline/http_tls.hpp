// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pipeline/http_server.hpp"

namespace vcap {

/// TLS 1.2 and 1.3, as GnuTLS names them.
inline constexpr const char* kTlsPriorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

/// What the files of a TLS server hold, in PEM. Thread safety: value.
struct TlsTexts {
  std::string certificate{};
  std::string key{};
};

/// Throws InvalidArgument that names the file if one cannot be read or holds no such thing;
/// OutputError if libmicrohttpd was built without TLS.
TlsTexts read_tls_files(const TlsFiles& files);

/// The error of a server that does not start with texts that could be read.
[[noreturn]] void fail_tls(const TlsFiles& files, const std::string& why);

}  // namespace vcap
