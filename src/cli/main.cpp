// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <iostream>
#include <string>

#ifdef __GLIBC__  // defined by any header of the C++ library
#include <malloc.h>
#endif

#include <CLI/CLI.hpp>

#include "base/cores.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_exit.hpp"
#include "cli/help_groups.hpp"
#include "cli/parse_error.hpp"
#include "vcap/base/version.hpp"

namespace vcap::cli {
namespace {

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
  add_replay(app, chosen);
  add_plan(app, chosen);
  add_eval(app, chosen);
  add_convert(app, chosen);
  add_report(app, chosen);
  add_sources(app, chosen);
  add_devices(app, chosen);
  group_new_commands(app, "Running");
  add_worker(app, chosen);
  add_cluster(app, chosen);
  add_stream(app, chosen);
  group_new_commands(app, "Clusters");
  add_inspect(app, chosen);
  add_check_state(app, chosen);
  add_fetch(app, chosen);
  add_pack(app, chosen);
  add_unpack(app, chosen);
  group_new_commands(app, "Capsules");
  add_keygen(app, chosen);
  add_sign(app, chosen);
  add_verify(app, chosen);
  add_encrypt(app, chosen);
  group_new_commands(app, "Signatures and keys");
  add_completion(app, chosen);
  add_man(app, chosen);
  group_new_commands(app, "Help");

  if (argument_count < 2) {
    std::cerr << app.help();
    return kUsage;
  }
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

namespace vcap::cli {
namespace {

/// The one place where errors become messages and exit codes.
int run_and_explain(int argument_count, const char* const* arguments) {
  try {
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

}  // namespace
}  // namespace vcap::cli

int main(int argument_count, char** arguments) {
  using namespace vcap::cli;
  limit_heaps();
  Console::shared().take_log();
  begin_watching_exits();
  const int exit_code = run_and_explain(argument_count, arguments);
  end_watching_exits();
  return exit_code;
}
