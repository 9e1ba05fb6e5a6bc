// SPDX-License-Identifier: Apache-2.0
#include "pipeline/http_tls.hpp"

#include <microhttpd.h>

#include <cstddef>
#include <system_error>

#include "base/text.hpp"
#include "files/mapped_file.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

std::string read_pem(const std::filesystem::path& path, const std::string& what,
                     const std::string& mark) {
  const std::string named = what + " " + quote(path.string());
  std::string text;
  try {
    const auto file = MappedFile::open(path);
    const std::size_t size = file->bytes().size();
    constexpr std::size_t kMost = std::size_t{1} << 20;
    if (size > kMost)
      throw InvalidArgument(ErrorCode::invalid_argument, named + " has " + counted(size, "byte") +
                                                             "; a PEM file has at most 1 MiB");
    text.assign(reinterpret_cast<const char*>(file->bytes().data()), size);
  } catch (const std::system_error& error) {
    throw InvalidArgument(ErrorCode::invalid_argument,
                          named + " cannot be read: " + error.code().message() +
                              "; give a PEM file that this user can read");
  }
  if (text.find(mark) == std::string::npos)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          named + " holds no \"" + mark + "\"; give a PEM file");
  return text;
}

}  // namespace

TlsTexts read_tls_files(const TlsFiles& files) {
  if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
    throw OutputError(ErrorCode::output_open,
                      "the web server cannot speak https, because libmicrohttpd was built without "
                      "TLS; install one with TLS");
  return {.certificate = read_pem(files.certificate, "the certificate", "-----BEGIN CERTIFICATE"),
          .key = read_pem(files.key, "the private key", "PRIVATE KEY-----")};
}

void fail_tls(const TlsFiles& files, const std::string& why) {
  throw InvalidArgument(ErrorCode::invalid_argument,
                        "the certificate " + quote(files.certificate.string()) +
                            " and the private key " + quote(files.key.string()) +
                            " cannot be used together" + (why.empty() ? "" : ": " + why) +
                            "; give a certificate and the key that it was made for");
}

}  // namespace vcap
