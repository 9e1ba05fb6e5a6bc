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

/// Whose capsules are let in, and how encrypted ones are opened.
struct AccessArguments {
  KeyArguments key{};
  std::vector<std::string> trusted_keys{};
  std::vector<std::string> revoked_keys{};
  std::vector<std::string> minimum_versions{};
  bool require_signature = false;
};

/// Declares --key-file and --passphrase-file, of which at most one is given.
void add_key_options(CLI::App& command, KeyArguments& arguments);
/// Declares these, and --trusted-key, --revoked-key, --require-signature and --minimum-version.
void add_access_options(CLI::App& command, AccessArguments& arguments);

/// Reads the key that is named; nothing where none is. Throws InvalidArgument.
std::optional<EncryptionKey> read_key(const KeyArguments& arguments);
/// Reads the keys that are named. Throws UsageError and InvalidArgument.
LoadOptions read_access(const AccessArguments& arguments);

}  // namespace vcap::cli
