// SPDX-License-Identifier: Apache-2.0
#include "cli/access_options.hpp"

#include <charconv>

#include "cli/exit_code.hpp"

namespace vcap::cli {
namespace {

void read_minimum_version(const std::string& text, TrustPolicy& policy) {
  const std::string argument = "--minimum-version " + text;
  const auto equals = text.find('=');
  int version = 0;
  const char* const end = text.data() + text.size();
  const char* const begin = equals == std::string::npos ? end : text.data() + equals + 1;
  const auto [stop, error] = std::from_chars(begin, end, version);
  if (equals == 0 || error != std::errc() || stop != end || version < 1)
    throw UsageError(argument + ": write a capsule's name and version, such as detector=3");
  const std::string name = text.substr(0, equals);
  if (!policy.minimum_versions.emplace(name, version).second)
    throw UsageError(argument + ": \"" + name +
                     "\" has a minimum version already; give each capsule once");
}

}  // namespace

void add_key_options(CLI::App& command, KeyArguments& arguments) {
  CLI::Option* const key_file =
      command
          .add_option("--key-file", arguments.key_file,
                      "The key of encrypted capsules, as `vcap keygen --encryption` makes it")
          ->type_name("PATH");
  command
      .add_option("--passphrase-file", arguments.passphrase_file,
                  "A file whose first line is the passphrase of encrypted capsules")
      ->type_name("PATH")
      ->excludes(key_file);
}

void add_access_options(CLI::App& command, AccessArguments& arguments) {
  add_key_options(command, arguments.key);
  const auto repeated = [&command](const char* name, std::vector<std::string>& values,
                                   const char* help, const char* type) {
    command.add_option(name, values, help)->type_name(type)->allow_extra_args(false);
  };
  repeated("--trusted-key", arguments.trusted_keys,
           "A trusted public key; capsules signed by it must be unchanged. May be repeated",
           "PATH");
  repeated("--revoked-key", arguments.revoked_keys,
           "The id of a revoked key, whose signatures are not valid any more", "ID");
  command.add_flag("--require-signature", arguments.require_signature,
                   "Accepts only capsules that a trusted key has signed");
  repeated("--minimum-version", arguments.minimum_versions,
           "The oldest accepted version of a capsule", "CAPSULE=N");
}

std::optional<EncryptionKey> read_key(const KeyArguments& arguments) {
  if (!arguments.key_file.empty()) return EncryptionKey::from_file(arguments.key_file);
  if (!arguments.passphrase_file.empty())
    return EncryptionKey::from_passphrase_file(arguments.passphrase_file);
  return std::nullopt;
}

LoadOptions read_access(const AccessArguments& arguments) {
  if (arguments.require_signature && arguments.trusted_keys.empty())
    throw UsageError("--require-signature: give the keys, by --trusted-key NAME.pub");
  LoadOptions options;
  options.key = read_key(arguments.key);
  options.trust.require_signature = arguments.require_signature;
  for (const std::string& path : arguments.trusted_keys)
    options.trust.keys.push_back(PublicKey::from_file(path));
  for (const std::string& id : arguments.revoked_keys)
    options.trust.revoked.insert(KeyId::parse(id));
  for (const std::string& text : arguments.minimum_versions)
    read_minimum_version(text, options.trust);
  return options;
}

}  // namespace vcap::cli
