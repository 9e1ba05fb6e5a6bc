// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "vcap/loading/sign_capsule.hpp"

namespace vcap::cli {

void add_sign(CLI::App& app, Action& chosen) {
  struct Arguments {
    std::string capsule;
    std::string key;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("sign", "Signs a capsule; it can have signatures by two keys");
  command->add_option("capsule", arguments->capsule, "The capsule, which is not encrypted")
      ->required();
  command->add_option("--key", arguments->key, "The secret key, as `vcap keygen` makes it")
      ->type_name("PATH")
      ->required();
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      const SecretKey key = SecretKey::from_file(arguments->key);
      sign_capsule(arguments->capsule, key);
      std::cout << "signed " << arguments->capsule << " by key "
                << key.public_key().id().to_string() << '\n';
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace vcap::cli
