// SPDX-License-Identifier: Apache-2.0
// vcap keygen, sign, verify and encrypt, and the options of other commands for keys and signatures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/command.hpp"
#include "loading/capsule_builder.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::Result;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

/// A folder with a signed capsule, the keys alice and bob, and an encryption key.
class SigningCommands : public testing::Test {
 protected:
  SigningCommands() {
    fs::copy_file(test::capsule("finder"), capsule_);
    make_key("alice");
    make_key("bob");
    EXPECT_EQ(test::vcap({"keygen", "--encryption", path("box")}).exit_code, 0);
    EXPECT_EQ(sign("alice").exit_code, 0);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void make_key(const std::string& name) const {
    const Result made = test::vcap({"keygen", path(name)});
    EXPECT_EQ(made.exit_code, 0) << made;
  }
  Result sign(const std::string& name) const {
    return test::vcap({"sign", capsule_, "--key", path(name + ".key")});
  }
  /// The key's id, which signing prints at its end.
  std::string id_of(const std::string& name) const {
    const std::string out = sign(name).out;
    return out.substr(out.size() - 17, 16);
  }

  TemporaryFolder folder_;
  std::string capsule_ = path("a.cap");
};

TEST_F(SigningCommands, ShowWhoSignedACapsule) {
  const Result one = test::vcap({"verify", capsule_, "--key", path("alice.pub")});
  EXPECT_EQ(one.exit_code, 0) << one;
  EXPECT_EQ(one.out, "signed by " + id_of("alice") + ": valid\n");

  const std::string bob = id_of("bob");
  const Result both = test::vcap({"verify", capsule_, "--key", path("alice.pub")});
  EXPECT_EQ(both.exit_code, 0) << both;
  EXPECT_EQ(both.out, "signed by " + id_of("alice") + ": valid\nsigned by " + bob + ": unknown\n");
}

TEST_F(SigningCommands, RefuseACapsuleThatIsNotTrusted) {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    const Result result = test::vcap(arguments);
    EXPECT_EQ(result.exit_code, 3) << result;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  refused({"verify", capsule_, "--key", path("bob.pub")}, "is signed by " + id_of("alice"));
  refused({"verify", capsule_, "--key", path("alice.pub"), "--revoked", id_of("alice")},
          "which is revoked");
  refused({"verify", test::capsule("finder"), "--key", path("alice.pub")}, "is not signed");
  std::string changed = read_file(capsule_);
  changed[100] = static_cast<char>(changed[100] ^ 1);
  refused({"verify", folder_.write("b.cap", changed).string(), "--key", path("alice.pub")},
          "get it again");
}

TEST_F(SigningCommands, MakeSecretsReadableByTheirOwnerOnlyAndOverwriteNoFile) {
  for (const char* const name : {"alice.key", "box.key"}) {
    struct stat status {};
    ASSERT_EQ(::stat(path(name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u) << name;
  }
  const std::string secret = read_file(path("alice.key"));
  const Result again = test::vcap({"keygen", path("alice")});
  EXPECT_EQ(again.exit_code, 7) << again;
  EXPECT_THAT(again.err, HasSubstr("never overwritten"));
  EXPECT_EQ(read_file(path("alice.key")), secret);

  folder_.write("carol.pub", "mine");
  EXPECT_EQ(test::vcap({"keygen", path("carol")}).exit_code, 7);
  EXPECT_FALSE(fs::exists(path("carol.key")));
}

TEST_F(SigningCommands, RefuseAThirdKeyAndAFileWithoutSecretKey) {
  make_key("carol");
  EXPECT_EQ(sign("bob").exit_code, 0);
  const Result third = sign("carol");
  EXPECT_EQ(third.exit_code, 2) << third;
  EXPECT_THAT(third.err, HasSubstr("which is the maximum"));

  const Result no_key = test::vcap({"sign", capsule_, "--key", path("alice.pub")});
  EXPECT_EQ(no_key.exit_code, 2) << no_key;
  EXPECT_THAT(no_key.err, HasSubstr("has no secret key"));
}

TEST_F(SigningCommands, MakeSignaturesThatEveryCommandCanRequire) {
  const std::vector<std::string> trust{"--require-signature", "--trusted-key", path("alice.pub")};
  const auto with_trust = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), trust.begin(), trust.end());
    return test::vcap(arguments);
  };
  EXPECT_EQ(with_trust({"plan", "--capsule", capsule_}).exit_code, 0);
  EXPECT_EQ(with_trust({"inspect", "--verify", capsule_}).exit_code, 0);
  EXPECT_EQ(with_trust({"unpack", capsule_, path("out")}).exit_code, 0);

  const std::string unsigned_one = test::capsule("finder");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"plan", "--capsule", unsigned_one},
        std::vector<std::string>{"inspect", unsigned_one},
        std::vector<std::string>{"unpack", unsigned_one, path("out2")},
        std::vector<std::string>{"run", "--capsule", unsigned_one, "--source", "none.avi"}}) {
    const Result result = with_trust(arguments);
    EXPECT_EQ(result.exit_code, 3) << result;
    EXPECT_THAT(result.err, HasSubstr("is not signed"));
  }
}

TEST_F(SigningCommands, EnforceMinimumVersions) {
  const auto plan = [&](const std::string& version) {
    return test::vcap({"plan", "--capsule", capsule_, "--minimum-version", version});
  };
  EXPECT_EQ(plan("finder=1").exit_code, 0);
  EXPECT_EQ(plan("another=9").exit_code, 0);
  const Result older = plan("finder=2");
  EXPECT_EQ(older.exit_code, 3) << older;
  EXPECT_THAT(older.err, HasSubstr("the minimum is 2"));
  for (const char* const wrong : {"finder", "finder=", "finder=x", "finder=0", "=1", "finder=1x"})
    EXPECT_EQ(plan(wrong).exit_code, 2) << wrong;
}

TEST_F(SigningCommands, AskForTheTrustedKeyIfASignatureIsRequired) {
  const Result result = test::vcap({"plan", "--capsule", capsule_, "--require-signature"});
  EXPECT_EQ(result.exit_code, 2) << result;
  EXPECT_THAT(result.err, HasSubstr("--trusted-key"));
}

TEST_F(SigningCommands, EncryptASignedCapsuleThatItsKeyOpens) {
  const Result made =
      test::vcap({"encrypt", capsule_, "--key-file", path("box.key"), "--output", path("e.cap")});
  EXPECT_EQ(made.exit_code, 0) << made;
  const Result closed = test::vcap({"inspect", path("e.cap")});
  EXPECT_EQ(closed.exit_code, 3) << closed;
  EXPECT_THAT(closed.err, AllOf(HasSubstr("is encrypted"), HasSubstr("--key-file")));
  const Result opened = test::vcap(
      {"verify", path("e.cap"), "--key", path("alice.pub"), "--key-file", path("box.key")});
  EXPECT_EQ(opened.exit_code, 0) << opened;
  EXPECT_EQ(
      test::vcap({"plan", "--capsule", path("e.cap"), "--key-file", path("box.key")}).exit_code, 0);
  const Result sign_it = test::vcap({"sign", path("e.cap"), "--key", path("bob.key")});
  EXPECT_EQ(sign_it.exit_code, 3) << sign_it;
  const Result no_key = test::vcap({"encrypt", capsule_, "--output", path("f.cap")});
  EXPECT_EQ(no_key.exit_code, 2) << no_key;
}

TEST_F(SigningCommands, PackAnEncryptedCapsule) {
  const Result packed = test::vcap({"pack", "--library", test::plugin_path("good"), "--output",
                                    path("p.cap"), "--key-file", path("box.key")});
  EXPECT_EQ(packed.exit_code, 0) << packed;
  EXPECT_EQ(test::vcap({"inspect", path("p.cap")}).exit_code, 3);
  EXPECT_EQ(
      test::vcap({"inspect", "--verify", path("p.cap"), "--key-file", path("box.key")}).exit_code,
      0);
  const Result wrong = test::vcap(
      {"inspect", path("p.cap"), "--passphrase-file", folder_.write("word", "guess\n").string()});
  EXPECT_EQ(wrong.exit_code, 3) << wrong;
  EXPECT_THAT(wrong.err, HasSubstr("a passphrase is given"));
  const Result both = test::vcap(
      {"inspect", path("p.cap"), "--key-file", path("box.key"), "--passphrase-file", path("word")});
  EXPECT_EQ(both.exit_code, 2) << both;
}

}  // namespace
}  // namespace vcap
