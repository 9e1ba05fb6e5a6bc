// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "vcap/base/error.hpp"
#include "vcap/loading/crypto/encryption_key.hpp"
#include "vcap/loading/crypto/signing_key.hpp"

namespace vcap::cli {
namespace {

struct KeygenArguments {
  std::string name;
  bool encryption = false;
};

int make_signing_key(const std::string& name) {
  const std::string secret_path = name + ".key";
  const std::string public_path = name + ".pub";
  const SecretKey key = SecretKey::generate();
  key.save(secret_path);
  try {
    key.public_key().save(public_path);
  } catch (const OutputError&) {
    std::error_code ignored;  // the first error is the one to report
    std::filesystem::remove(secret_path, ignored);
    throw;
  }
  std::cout << "key " << key.public_key().id().to_string() << ": keep " << secret_path
            << " secret, since it signs; give " << public_path << " to those who should trust it\n";
  return kDone;
}

int make_encryption_key(const std::string& name) {
  const std::string path = name + ".key";
  EncryptionKey::generate().save(path);
  std::cout << "encryption key: keep " << path
            << " secret; anyone who has it can read the capsules and make new ones\n";
  return kDone;
}

}  // namespace

void add_keygen(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<KeygenArguments>();
  CLI::App* command = app.add_subcommand(
      "keygen",
      "Makes a key pair that signs capsules, NAME.key and NAME.pub, or an encryption key");
  command->add_option("name", arguments->name, "The path of the files, without extension")
      ->type_name("NAME")
      ->required();
  command->add_flag("--encryption", arguments->encryption,
                    "Makes a key that encrypts capsules, NAME.key");
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      return arguments->encryption ? make_encryption_key(arguments->name)
                                   : make_signing_key(arguments->name);
    };
  });
}

}  // namespace vcap::cli
