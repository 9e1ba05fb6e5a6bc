// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>

#include "cli/access_options.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "vcap/loading/encrypt_capsule.hpp"

namespace vcap::cli {
namespace {

struct EncryptArguments {
  std::string capsule;
  std::string output;
  KeyArguments key;
};

int encrypt(const EncryptArguments& arguments) {
  const auto key = read_key(arguments.key);
  if (!key) throw UsageError("encrypt: give a key, by --key-file or --passphrase-file");
  encrypt_capsule(arguments.capsule, arguments.output, *key);
  std::cout << "encrypted " << arguments.capsule << " as " << arguments.output << '\n';
  return kDone;
}

}  // namespace

void add_encrypt(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EncryptArguments>();
  CLI::App* command = app.add_subcommand(
      "encrypt", "Encrypts a capsule, including its signatures; to sign it too, sign it first");
  command->add_option("capsule", arguments->capsule, "The capsule")->required();
  command->add_option("--output", arguments->output, "The encrypted capsule to write")
      ->type_name("PATH")
      ->required();
  add_key_options(*command, arguments->key);
  command->callback([arguments, &chosen] { chosen = [arguments] { return encrypt(*arguments); }; });
}

}  // namespace vcap::cli
