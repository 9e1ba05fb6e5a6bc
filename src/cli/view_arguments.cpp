// SPDX-License-Identifier: Apache-2.0
#include "cli/view_arguments.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/console.hpp"
#include "cli/exit_code.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchemes[] = {"rtsp", "rtsps", "http", "https"};

/// Adds a scheme or a folder to what is allowed.
void read_view_source(const std::string& text, ViewSources& allowed) {
  std::error_code unknown;
  if (fs::is_directory(text, unknown)) {
    allowed.folders.push_back(fs::absolute(text).string());
  } else if (std::ranges::find(kSchemes, text) != std::end(kSchemes)) {
    allowed.schemes.push_back(text);
  } else {
    throw UsageError(
        "--view-sources " + text +
        " is neither a folder nor a scheme; give a folder, rtsp, rtsps, http or https");
  }
}

std::vector<ViewToken> read_or_make_tokens(const std::string& path) {
  std::error_code unknown;
  if (!fs::exists(path, unknown)) {
    make_view_tokens(path);
    Console::shared().line("vcap: " + path +
                           " is new, and has a token for the role admin; the page asks for it");
  }
  return read_view_tokens(path);
}

}  // namespace

std::string with_host(std::string address) {
  if (address.find(':') == std::string::npos) address.insert(0, ":");
  if (address.front() == ':') address.insert(0, "127.0.0.1");
  return address;
}

void ViewArguments::add_access_to(CLI::App& command, const std::string& about_view,
                                  const std::string& about_tokens) {
  CLI::Option* const view =
      command.add_option("--view", address, about_view)->type_name("[HOST:]PORT");
  const auto add = [&](const char* name, auto& value, const char* type, const std::string& help) {
    return command.add_option(name, value, help)->type_name(type)->needs(view);
  };
  add("--view-tokens", tokens, "PATH",
      about_tokens +
          ", as a JSON file of tokens; if there is none, it is made with a token for the role "
          "admin");
  CLI::Option* const certificate =
      add("--tls-cert", tls.certificate, "PATH",
          "Serves the live view over HTTPS with this certificate, a PEM file");
  CLI::Option* const key =
      add("--tls-key", tls.key, "PATH", "The private key of --tls-cert, a PEM file");
  certificate->needs(key);
  key->needs(certificate);
}

void ViewArguments::add_to(CLI::App& command) {
  add_access_to(command,
                "Shows the streams in a browser, at http://HOST:PORT/; default HOST: 127.0.0.1; "
                "port 0: any free port. Without --view-tokens, only a loopback address is allowed, "
                "and nothing can be changed",
                "Who may look at the live view and change things");
  CLI::Option* const view = command.get_option("--view");
  CLI::Option* const token_file = command.get_option("--view-tokens");
  const auto add = [&](const char* name, auto& value, const char* type, const char* help) {
    return command.add_option(name, value, help)->type_name(type)->needs(view);
  };
  add("--view-sources", sources, "FOLDER|SCHEME",
      "Lets admins add streams from files below this folder, or from URLs of this scheme (rtsp, "
      "rtsps, http, https); may be repeated. The run then goes on until it is stopped")
      ->allow_extra_args(false)
      ->needs(token_file);
  add("--view-recordings", recordings, "FOLDER",
      "Lets operators record streams into this folder: records and an annotated clip")
      ->needs(token_file);
  command
      .add_flag("--view-uploads", uploads,
                "Lets admins replace capsules by uploaded ones; needs --require-signature")
      ->needs(view)
      ->needs(token_file);
}

LiveViewSettings ViewArguments::settings() const {
  LiveViewSettings settings{.address = with_host(address)};
  for (const std::string& text : sources) read_view_source(text, settings.sources);
  std::error_code unknown;
  if (!recordings.empty() && !fs::is_directory(recordings, unknown))
    throw UsageError("--view-recordings " + recordings + " is not a folder; make it first");
  if (!tokens.empty()) settings.tokens = read_or_make_tokens(tokens);
  if (!tls.certificate.empty()) settings.tls = tls;
  return settings;
}

}  // namespace vcap::cli
