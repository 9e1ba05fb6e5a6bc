// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/access_options.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "vcap/loading/sign_capsule.hpp"

namespace vcap::cli {
namespace {

struct VerifyArguments {
  std::string capsule;
  AccessArguments access;
};

int verify(const VerifyArguments& arguments) {
  const LoadOptions options = read_access(arguments.access);
  for (const CapsuleSignature& signature : verify_signature(arguments.capsule, options))
    std::cout << "signed by " << signature.key.to_string() << ": " << to_string(signature.verdict)
              << '\n';
  return kDone;
}

}  // namespace

void add_verify(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<VerifyArguments>();
  arguments->access.require_signature = true;
  CLI::App* command = app.add_subcommand(
      "verify", "Shows who signed a capsule; fails unless it is one of the given keys");
  command->add_option("capsule", arguments->capsule, "The capsule")->required();
  command
      ->add_option("--key", arguments->access.trusted_keys,
                   "A public key that may have signed it; may be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false)
      ->required();
  command
      ->add_option("--revoked", arguments->access.revoked_keys,
                   "The id of a revoked key, whose signatures are not valid any more")
      ->type_name("ID")
      ->allow_extra_args(false);
  add_key_options(*command, arguments->access.key);
  command->callback([arguments, &chosen] { chosen = [arguments] { return verify(*arguments); }; });
}

}  // namespace vcap::cli
