// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace vcap::test {

/// Writes a new key and a self-signed certificate for 127.0.0.1 into a PEM file.
inline void write_certificate(const std::string& path) {
  const auto need = [](bool done) {
    if (!done) throw std::runtime_error("OpenSSL made no certificate");
  };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"),
                                                                &EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
  need(key != nullptr && certificate != nullptr);
  X509* const x509 = certificate.get();
  need(X509_set_version(x509, 2) == 1);
  need(ASN1_INTEGER_set(X509_get_serialNumber(x509), 1) == 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
  need(X509_set_pubkey(x509, key.get()) == 1);
  X509_NAME* const name = X509_get_subject_name(x509);
  const unsigned char common_name[] = "vcap test";
  need(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0) == 1);
  need(X509_set_issuer_name(x509, name) == 1);
  for (const auto& [kind, value] :
       {std::pair{NID_subject_alt_name, "IP:127.0.0.1"}, {NID_basic_constraints, "CA:TRUE"}}) {
    const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
        X509V3_EXT_conf_nid(nullptr, nullptr, kind, value), &X509_EXTENSION_free);
    need(extension != nullptr && X509_add_ext(x509, extension.get(), -1) == 1);
  }
  need(X509_sign(x509, key.get(), EVP_sha256()) > 0);
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "w"),
                                                                &std::fclose);
  need(file != nullptr);
  need(PEM_write_PrivateKey(file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  need(PEM_write_X509(file.get(), x509) == 1);
}

}  // namespace vcap::test
