// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <CLI/App.hpp>
#include <CLI/Error.hpp>

namespace vcap::cli {

/// What is wrong with the command line, in one line: the unknown word and the nearest known one, or
/// the parser's own text; and which --help says more.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace vcap::cli
