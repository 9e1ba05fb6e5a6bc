// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <CLI/App.hpp>

namespace vcap::cli {

/// The chosen command; returns the exit status, or throws.
using Action = std::function<int()>;

// Each declares one subcommand, which sets `chosen` if the command line names it. A subcommand
// starts only after the whole line has been read.
void add_run(CLI::App& app, Action& chosen);
void add_check_state(CLI::App& app, Action& chosen);
void add_worker(CLI::App& app, Action& chosen);
void add_cluster(CLI::App& app, Action& chosen);
void add_stream(CLI::App& app, Action& chosen);
void add_replay(CLI::App& app, Action& chosen);
void add_plan(CLI::App& app, Action& chosen);
void add_eval(CLI::App& app, Action& chosen);
void add_convert(CLI::App& app, Action& chosen);
void add_inspect(CLI::App& app, Action& chosen);
void add_fetch(CLI::App& app, Action& chosen);
void add_pack(CLI::App& app, Action& chosen);
void add_unpack(CLI::App& app, Action& chosen);
void add_keygen(CLI::App& app, Action& chosen);
void add_sign(CLI::App& app, Action& chosen);
void add_verify(CLI::App& app, Action& chosen);
void add_encrypt(CLI::App& app, Action& chosen);
void add_devices(CLI::App& app, Action& chosen);
void add_report(CLI::App& app, Action& chosen);
void add_sources(CLI::App& app, Action& chosen);
void add_completion(CLI::App& app, Action& chosen);
void add_man(CLI::App& app, Action& chosen);

}  // namespace vcap::cli
