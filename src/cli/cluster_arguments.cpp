// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_arguments.hpp"

#include <chrono>

namespace vcap::cli {

void ClusterArguments::add_to(CLI::App& command, const std::string& url_name) {
  CLI::Option* const url =
      command
          .add_option(url_name, settings.url,
                      "The cluster's broker, a NATS server with JetStream: nats://HOST:PORT or "
                      "tls://HOST:PORT; several of one cluster with commas")
          ->type_name("URL");
  command
      .add_option("--site", settings.site,
                  "The cluster's site; jobs and workers of different sites do not see each other")
      ->type_name("NAME")
      ->capture_default_str()
      ->needs(url);
  CLI::Option* const credentials = command
                                       .add_option("--credentials", settings.credentials,
                                                   "The file of credentials for the broker")
                                       ->type_name("PATH")
                                       ->needs(url);
  command
      .add_option("--nkey", settings.nkey,
                  "The file of the NKey for the broker, as vcap cluster config writes it")
      ->type_name("PATH")
      ->excludes(credentials)
      ->needs(url);
  command
      .add_option("--replicas", settings.replicas,
                  "How many of the cluster's servers keep each message; 0: a new site gets 3 if "
                  "there are as many servers, else 1")
      ->check(CLI::Range(0, 5).description(""))
      ->capture_default_str()
      ->needs(url);
  command.add_option("--ca", settings.certificates, "The PEM file of the authorities to trust")
      ->type_name("PATH")
      ->needs(url);
  CLI::Option* const certificate =
      command
          .add_option("--certificate", settings.certificate,
                      "The PEM file of this process's certificate for the broker")
          ->type_name("PATH");
  CLI::Option* const key =
      command.add_option("--private-key", settings.key, "The PEM file of its private key")
          ->type_name("PATH");
  certificate->needs(key)->needs(url);
  key->needs(certificate);
}

void ClusterArguments::require_in(CLI::App& command, const std::string& url_name) {
  add_to(command, url_name);
  command.get_option(url_name)->required();
}

std::shared_ptr<Cluster> ClusterArguments::connect() const { return Cluster::connect(settings); }

std::shared_ptr<Cluster> ClusterArguments::connect_to_existing() const {
  ClusterSettings existing = settings;
  existing.create_site = false;
  return Cluster::connect(existing);
}

void close_if_silent(Cluster& cluster) {
  if (!cluster.answers(std::chrono::milliseconds(500))) cluster.close();
}

}  // namespace vcap::cli
