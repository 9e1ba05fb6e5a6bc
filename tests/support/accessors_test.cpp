// SPDX-License-Identifier: Apache-2.0
//
// Member functions of public headers that give a reference or pointer say by `&`, `const&` or `&&`
// what they give of a temporary. Without that, `for (auto& step : pipeline.plan().steps())` reads
// freed memory. tests/pipeline/temporaries_test.cpp shows what such functions give.
#include <gmock/gmock.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace {

/// Accessors that may give a reference of a temporary, by header and name, each with its reason.
const std::set<std::string> kUnqualifiedAccessors = {
    // The views and the stream belong to the caller.
    "vcap/backends/model_outputs.hpp: at",
    "vcap/capsule/stream_ref.hpp: opening",
    // These objects are not made as temporaries: a backend is held by a pointer, and the others
    // are parts of a call in progress.
    "vcap/backends/model_backend.hpp: runner",
    "vcap/batching/detail/batch_calls_impl.hpp: input",
    "vcap/batching/detail/batch_core.hpp: allocate",
};

/// C++ without comments, preprocessor lines and the contents of texts.
std::string code_only(const std::string& source) {
  static const std::regex removed(R"re(//[^\n]*|^[ \t]*#[^\n]*|"(?:[^"\\\n]|\\.)*")re",
                                  std::regex::ECMAScript | std::regex::multiline);
  return std::regex_replace(source, removed, "");
}

/// Without spaces at both ends; other white space becomes one space.
std::string one_line(const std::string& text) {
  static const std::regex space(R"(\s+)");
  std::string line = std::regex_replace(text, space, " ");
  if (line.starts_with(' ')) line.erase(0, 1);
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

/// The position after the bracket that closes the one at `begin`.
std::size_t after_closing(const std::string& text, std::size_t begin, char opens, char closes) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == opens) ++depth;
    if (text[i] == closes && --depth == 0) return i + 1;
  }
  return text.size();
}

/// A member function as far as these tests look at it.
struct MemberFunction {
  std::string name;
  bool gives_reference;  ///< or a pointer; not the object itself, as assignments do
  std::string of;        ///< "", "&", "const&" or "&&": which objects it is for
};

/// The member function that this declares; its name is "" if it is something else, or static.
MemberFunction member_function(std::string declaration) {
  static const std::regex own(R"(\boperator ?(=|\+\+|--|[-+*/|&^%]=|<<|>>))");
  static const std::regex without_object(R"(\b(static|friend|using|typedef|return|class|enum)\b)");
  static const std::regex conversion(R"(\boperator .*[\w>] ?[&*]*$)");
  static const std::regex function(R"((operator ?(?:\[\]|->|\*|\(\))|\w+)$)");
  static const std::regex reference(R"([&*] ?(operator ?(\[\]|->|\*|\(\))|\w+)$|[&*]$)");
  static const std::regex object(R"(^ ?((?:const|volatile| )*)(&{0,2}))");
  while (declaration.starts_with("template")) {
    const std::size_t list = declaration.find('<');
    if (list == std::string::npos) return {};
    declaration = one_line(declaration.substr(after_closing(declaration, list, '<', '>')));
  }
  const std::size_t parameters = declaration.find('(');
  if (parameters == std::string::npos) return {};
  const std::string head = one_line(declaration.substr(0, parameters));
  std::smatch name;
  if (std::regex_search(head, without_object) ||
      (!std::regex_search(head, name, conversion) && !std::regex_search(head, name, function))) {
    return {};
  }
  const std::string tail = declaration.substr(after_closing(declaration, parameters, '(', ')'));
  std::smatch of;
  std::regex_search(tail, of, object);
  const bool is_const = of.str(1).find("const") != std::string::npos;
  // Conversions to `const B&` and to `B` count as functions of one name.
  static const std::regex decoration(R"(\bconst | ?[&*]$)");
  const bool converts = name.size() == 1;
  return {converts ? std::regex_replace(name.str(), decoration, "") : name.str(),
          std::regex_search(head, reference) && !std::regex_search(head, own),
          is_const && of.str(2) == "&" ? "const&" : of.str(2)};
}

/// The names of the member functions that are not private and give a reference of a temporary:
/// those without `&`, and those with `const&` if no function of that name has `&&`.
std::vector<std::string> unqualified_accessors(const std::string& source) {
  static const std::regex class_head(R"(^(template ?<.*> ?)?(class|struct)\b[^()]*$)");
  static const std::regex struct_head(R"(\bstruct\b)");
  enum class Scope { other, open, closed };  // open: in a class, and not private
  std::vector<Scope> scopes{Scope::other};
  std::vector<MemberFunction> functions;
  std::set<std::string> for_temporaries;
  std::string statement;
  int parentheses = 0;
  const auto finish = [&] {
    const MemberFunction member = member_function(one_line(statement));
    if (scopes.back() != Scope::open || member.name.empty()) return;
    if (member.of == "&&") for_temporaries.insert(member.name);
    if (member.gives_reference) functions.push_back(member);
  };
  for (const char c : code_only(source)) {
    if (c == '(') ++parentheses;
    if (c == ')') --parentheses;
    if (parentheses > 0 || (c != ';' && c != '{' && c != '}' && c != ':')) {
      statement += c;
      continue;
    }
    const std::string line = one_line(statement);
    if (c == ':') {
      const bool is_private = line == "private";
      if (!is_private && line != "public" && line != "protected") {
        statement += c;
        continue;
      }
      scopes.back() = is_private ? Scope::closed : Scope::open;
    } else if (c == '{') {
      finish();
      const bool is_class = std::regex_search(line, class_head);
      const bool is_open = std::regex_search(line, struct_head) && scopes.back() != Scope::closed;
      scopes.push_back(!is_class ? Scope::other : is_open ? Scope::open : Scope::closed);
    } else if (c == '}') {
      if (scopes.size() > 1) scopes.pop_back();
    } else {
      finish();
    }
    statement.clear();
  }
  std::vector<std::string> found;
  for (const MemberFunction& member : functions) {
    if (member.of.empty() || (member.of == "const&" && !for_temporaries.contains(member.name))) {
      found.push_back(member.name);
    }
  }
  return found;
}

TEST(PublicHeaders, SayWhatTheirAccessorsGiveOfATemporary) {
  const std::filesystem::path root = vcap::test::in_sources("include");
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".hpp") continue;
    std::ifstream file(entry.path());
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    const std::string header = entry.path().lexically_relative(root).generic_string();
    for (const std::string& name : unqualified_accessors(source)) {
      found.insert(header + ": " + name);
    }
  }
  EXPECT_EQ(found, kUnqualifiedAccessors)
      << "give a new accessor const& and && forms, or delete the && form; take those that are "
         "gone out of the list";
}

TEST(UnqualifiedAccessors, AreFoundInEveryForm) {
  const std::string open = "class A {\n public:\n  A() {}\n  int x_{};\n  ";
  for (const char* const accessor :
       {"const B& b() const;", "virtual const B& b() const = 0;", "B* b() noexcept { return b_; }",
        "[[nodiscard]] const std::vector<B>& b(int i = {}) const { return b_; }",
        "const B& b() const&;", "template <class T> const T& b() const;", "auto& b();",
        "const B&\n  b() const;"}) {
    EXPECT_THAT(unqualified_accessors(open + accessor + "\n};"), testing::ElementsAre("b"))
        << accessor;
  }
  EXPECT_THAT(unqualified_accessors("struct A { B& operator[](int); B* operator->() const; };"),
              testing::ElementsAre("operator[]", "operator->"));
  EXPECT_THAT(unqualified_accessors("struct A { operator const B&() const; };"),
              testing::ElementsAre("operator B"));
}

TEST(UnqualifiedAccessors, AreNotOtherFunctions) {
  const std::string open = "class A {\n public:\n  ";
  for (const char* const other :
       {"const B& b() const&;\n  B b() &&;", "const B& b() const&;\n  void b() const&& = delete;",
        "B& b() & noexcept { return b_; }", "B b() const;", "void b(const B& b);",
        "static const B& b();", "A& operator=(const A&);", "friend B& b(A& a);",
        "// const B& b() const;", " private:\n  const B& b() const;",
        "std::function<const B&(int)> b;", "operator const B&() const&;\n  operator B() &&;"}) {
    EXPECT_THAT(unqualified_accessors(open + other + "\n};"), testing::IsEmpty()) << other;
  }
  EXPECT_THAT(unqualified_accessors("const B& b(const A& a);\nclass A { const B& b() const; };"),
              testing::IsEmpty());
}

}  // namespace
