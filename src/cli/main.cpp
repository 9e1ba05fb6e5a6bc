// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#ifdef __GLIBC__  // defined by any header of the C++ library
#include <malloc.h>
#endif

#include <CLI/CLI.hpp>

#include "base/cores.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "vcap/base/version.hpp"

namespace vcap::cli {
namespace {

/// The subcommand that was being read, so that messages can point to its help.
std::string command_in_use(const CLI::App& app) {
  const auto used = app.get_subcommands();
  return used.empty() ? "vcap" : "vcap " + used.front()->get_name();
}

/// The error in one line, with a pointer to the help. For an unknown command, CLI11 reports that no
/// command was given; the user needs to see the unknown word.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (app.get_subcommands().empty() && !unknown.empty())
    return "there is no command \"" + unknown.front() + "\"; see vcap --help";
  return std::string(error.what()) + "; see " + command_in_use(app) + " --help";
}

/// Streams start and end threads, and each thread could get a heap of its own, up to eight per
/// core. A heap keeps the memory that it once held. One heap for each core is enough.
void limit_heaps() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, static_cast<int>(cores()));
#endif
}

int complain(const std::string& message, int exit_code) {
  Console::shared().line("vcap: " + message);
  return exit_code;
}

int run(int argument_count, const char* const* arguments) {
  CLI::App app("Runs video-analytics capsules on files, webcams and network streams.", "vcap");
  app.set_version_flag("--version", "vcap " + std::string(version()));
  app.require_subcommand(1);
  app.footer(kExitCodesHelp);
  Action chosen;
  add_run(app, chosen);
  add_check_state(app, chosen);
  add_plan(app, chosen);
  add_eval(app, chosen);
  add_inspect(app, chosen);
  add_fetch(app, chosen);
  add_pack(app, chosen);
  add_unpack(app, chosen);
  add_keygen(app, chosen);
  add_sign(app, chosen);
  add_verify(app, chosen);
  add_encrypt(app, chosen);
  add_devices(app, chosen);
  add_sources(app, chosen);

  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::Success& wish) {
    return app.exit(wish);  // --help and --version are not errors
  } catch (const CLI::ParseError& error) {
    return complain(explain(app, error), kUsage);
  }
  return chosen();
}

}  // namespace
}  // namespace vcap::cli

// The one place where errors become messages and exit codes.
int main(int argument_count, char** arguments) {
  using namespace vcap::cli;
  try {
    limit_heaps();
    Console::shared().take_log();
    const int exit_code = run(argument_count, arguments);
    std::cout.flush();
    if (!std::cout)
      return complain("standard output could not be written; check the disk's space", kOutput);
    return exit_code;
  } catch (const std::exception& error) {
    return complain(error.what(), exit_code_of(error));
  } catch (...) {
    return complain("something that is not an exception was thrown", kFailed);
  }
}
