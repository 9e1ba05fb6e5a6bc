// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "vcap/loading/load_capsule.hpp"

namespace vcap::cli {

/// Where the key of an encrypted capsule is.
struct KeyArguments {
  std::string key_file{};
  std::string passphrase_file{};
};

/// Which signatures are trusted, and how encrypted capsules are decrypted.
struct AccessArguments {
  KeyArguments key{};
  std::vector<std::string> trusted_keys{};
  std::vector<std::string> revoked_keys{};
  std::vector<std::string> minimum_versions{};
  bool require_signature = false;
};

/// Declares --key-file and --passphrase-file; at most one may be given.
void add_key_options(CLI::App& command, KeyArguments& arguments);
/// Declares the key options, and --trusted-key, --revoked-key, --require-signature and
/// --minimum-version.
void add_access_options(CLI::App& command, AccessArguments& arguments);

/// Reads the given key; `nullopt` if there is none. Throws InvalidArgument.
std::optional<EncryptionKey> read_key(const KeyArguments& arguments);
/// Reads the given keys. Throws UsageError and InvalidArgument.
LoadOptions read_access(const AccessArguments& arguments);

}  // namespace vcap::cli
