// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/event_rules.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "support/mutator.hpp"
#include "support/paths.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string example_rules() {
  std::ifstream file(test::in_sources("examples/events.json"));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

nlohmann::json valid_rules() {
  return nlohmann::json::parse(R"({
    "schema": "vcap.event-rules/1",
    "zones": [{"name": "door", "polygon": [[0, 0], [100, 0], [100, 50]]}],
    "lines": [{"name": "gate", "from": [0, 0], "to": [0, 100]}],
    "rules": [
      {"name": "r", "kind": "enter", "zone": "door"},
      {"name": "c", "kind": "count", "zone": "door", "at_least": 3}]})");
}

TEST(EventRules, AreReadFromTheExample) {
  const auto rules = nlohmann::json::parse(example_rules()).get<EventRules>();
  EXPECT_EQ(rules.unit, EventRules::Unit::relative);
  ASSERT_EQ(rules.rules.size(), 7u);
  EXPECT_EQ(rules.zones[1].hysteresis, 8);
  const auto& stay = std::get<StayRule>(rules.rules[2].what);
  EXPECT_EQ(stay.at_least.at("person"), seconds(5));
  EXPECT_EQ(std::get<CrossRule>(rules.rules[4].what).direction, CrossRule::Direction::out);
  EXPECT_EQ(std::get<CountRule>(rules.rules[5].what).slack, 1);
}

TEST(EventRules, ReadBackWhatIsWritten) {
  EventRules rules{
      .unit = EventRules::Unit::pixels,
      .grace = milliseconds(1500),
      .max_gap = seconds(3),
      .handover = 0.25,
      .zones = {{.name = "a", .polygon = {{1, 2}, {3, 4.5}, {0, 9}}, .point = BoxPoint::top_left}},
      .lines = {{.name = "l", .from = {1, 2}, .to = {3, 4}, .hysteresis = 0}}};
  int number = 0;
  for (const decltype(EventRule::what)& what : std::initializer_list<decltype(EventRule::what)>{
           EnterRule{"a", true}, LeaveRule{"a"}, StayRule{"a", {{"*", milliseconds(10)}}},
           StayRule{"", {{"car", seconds(2)}, {"*", seconds(1)}}},
           CrossRule{"l", CrossRule::Direction::in},
           CountRule{.zone = "a", .at_least = 5, .slack = 2, .hold = seconds(1), .untracked = true},
           CountRule{.at_most = 0},
           AttributeRule{"a", "colour", {"red"}, {"blue", "green"}, milliseconds(1)}})
    rules.rules.push_back({.name = "rule " + std::to_string(number++),
                           .what = what,
                           .objects = {"person"},
                           .attributes = {{"bag", {"yes"}}},
                           .min_confidence = 0.5});
  const nlohmann::json json = rules;
  EXPECT_EQ(nlohmann::json::parse(json.dump()).get<EventRules>(), rules);
}

struct Wrong {
  const char* pointer;  ///< where a valid file gets this value
  const char* value;    ///< as JSON; "-" removes it
  std::vector<const char*> message;
};

class WrongRules : public testing::TestWithParam<Wrong> {};

TEST_P(WrongRules, AreRefusedWithThePlaceTheValueAndTheRemedy) {
  nlohmann::json json = valid_rules();
  const nlohmann::json::json_pointer place(GetParam().pointer);
  if (GetParam().value == std::string("-"))
    json[place.parent_pointer()].erase(place.back());
  else
    json[place] = nlohmann::json::parse(GetParam().value);
  try {
    (void)json.get<EventRules>();
    ADD_FAILURE() << "accepted: " << json;
  } catch (const InvalidArgument& error) {
    for (const char* const part : GetParam().message) EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, WrongRules,
    testing::Values(
        Wrong{"/schema", "-", {"\"schema\" is missing"}},
        Wrong{"/schema", "\"vcap.event-rules/2\"", {"/schema", "vcap.event-rules/1"}},
        Wrong{"/rule", "[]", {"/rule", "unknown", "did you mean \"rules\"?"}},
        Wrong{"/rules", "-", {"\"rules\" is missing"}},
        Wrong{"/rules", "{}", {"/rules", "an array is needed"}},
        Wrong{"/unit", "\"metres\"", {"/unit", "\"pixels\", \"relative\"", "\"metres\""}},
        Wrong{"/unit", "\"relative\"", {"zone \"door\"", "(100.0, 0.0)", "0 to 1", "set unit to"}},
        Wrong{"/grace", "-1", {"grace", "-1.0 s", "0 s"}},
        Wrong{"/grace", "1e300", {"/grace", "1e+300"}},
        Wrong{"/max_gap", "\"1\"", {"/max_gap", "a number is needed", "\"1\""}},
        Wrong{"/handover", "-0.5", {"handover", "-0.5", "0.0 to 100.0"}},
        Wrong{"/zones/0/name", "\"\"", {"zone 0", "its name is empty"}},
        Wrong{"/zones/0/name", "-", {"/zones/0", "\"name\" is missing"}},
        Wrong{"/zones/0/polygon", "[[0,0],[9,9]]", {"zone \"door\"", "2 points", "3 to 1000"}},
        Wrong{"/zones/0/polygon", "[[0,0],[5,5],[9,9]]", {"zone \"door\"", "on one line"}},
        Wrong{"/zones/0/polygon", "[[4,4],[4,4],[4,4]]", {"zone \"door\"", "on one line"}},
        Wrong{"/zones/0/polygon",
              "[[0,0],[0.5,0],[0.5,1]]",
              {"zone \"door\"", "within a single pixel", "set unit to relative"}},
        Wrong{"/zones/0/polygon", "[[0,0],[1],[9,9]]", {"/zones/0/polygon/1", "a point [x, y]"}},
        Wrong{"/zones/0/polygon", "[[0,0],[1e10,0],[9,9]]", {"zone \"door\"", "polygon"}},
        Wrong{"/zones/0/point", "\"middle\"", {"/zones/0/point", "\"centre\"", "\"middle\""}},
        Wrong{"/zones/0/hysteresis", "-1", {"zone \"door\"", "hysteresis is -1.0"}},
        Wrong{"/zones/0/poligon", "[]", {"/zones/0/poligon", "did you mean \"polygon\"?"}},
        Wrong{"/lines/0/to", "[0,0]", {"line \"gate\"", "the same point"}},
        Wrong{"/lines/0/to", "-", {"line \"gate\"", "\"to\" is missing"}},
        Wrong{"/lines/0/hysteresis", "1e300", {"line \"gate\"", "hysteresis", "1e+300"}},
        Wrong{"/rules/0/kind", "\"enters\"", {"rule \"r\"", "/rules/0/kind", "\"leave\""}},
        Wrong{"/rules/0/kind", "-", {"rule \"r\"", "\"kind\" is missing"}},
        Wrong{"/rules/0/name", "\"c\"", {"rule \"c\"", "the same name"}},
        Wrong{"/rules/0/zone",
              "\"dor\"",
              {"rule \"r\"", "zone is \"dor\"", "did you mean \"door\"?", "the zones are"}},
        Wrong{"/rules/0/zone", "-", {"rule \"r\"", "\"zone\" is missing"}},
        Wrong{"/rules/0/line", "\"gate\"", {"rule \"r\"", "/rules/0/line", "unknown"}},
        Wrong{"/rules/0/min_confidence",
              "1.5",
              {"rule \"r\"", "min_confidence is 1.5", "0.0 to 1.0"}},
        Wrong{"/rules/0/attributes", R"({"bag":[]})", {"rule \"r\"", "\"bag\"", "no values"}},
        Wrong{"/rules/0/objects", "\"person\"", {"rule \"r\"", "/rules/0/objects", "an array"}},
        Wrong{"/rules/1/at_least", "0", {"rule \"c\"", "at_least is 0", "1 to 1000000"}},
        Wrong{"/rules/1/at_least", "2.5", {"rule \"c\"", "a whole number", "2.5"}},
        Wrong{"/rules/1/at_least", "-", {"rule \"c\"", "exactly one of at_least and at_most"}},
        Wrong{"/rules/1/at_most", "1", {"rule \"c\"", "exactly one of at_least and at_most"}},
        Wrong{"/rules/1/slack", "3", {"rule \"c\"", "slack is 3", "less than at_least"}},
        Wrong{"/rules/1/hold", "-1", {"rule \"c\"", "hold is -1.0 s"}},
        Wrong{"/rules/1",
              R"({"name":"s","kind":"stay","zone":"door","at_least":0})",
              {"rule \"s\"", "at_least is 0.0 s", "above 0 s"}},
        Wrong{"/rules/1",
              R"({"name":"s","kind":"stay","zone":"door","at_least":{}})",
              {"rule \"s\"", "at_least is empty"}},
        Wrong{"/rules/1",
              R"({"name":"s","kind":"stay","at_least":"5"})",
              {"rule \"s\"", "a number of seconds, or an object"}},
        Wrong{"/rules/1",
              R"({"name":"x","kind":"cross","line":"gat"})",
              {"rule \"x\"", "line is \"gat\"", "did you mean \"gate\"?"}},
        Wrong{"/rules/1",
              R"({"name":"x","kind":"cross","line":"gate","direction":"left"})",
              {"rule \"x\"", "/rules/1/direction", "\"both\", \"in\", \"out\""}},
        Wrong{"/rules/1", R"({"name":"a","kind":"attribute"})", {"\"category\" is missing"}},
        Wrong{"/rules/1",
              R"({"name":"a","kind":"attribute","category":"c","from":["x"],"to":["x"]})",
              {"rule \"a\"", "from and to are both \"x\""}}));

TEST(EventRules, AreCheckedAlsoIfNoFileHasThem) {
  const EventRules rules{.rules = {{.name = "r", .what = EnterRule{.zone = "door"}}}};
  EXPECT_THAT([&] { validate(rules); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           AllOf(HasSubstr("rule \"r\""), HasSubstr("(none)"))));
  EventRules many;
  many.zones.resize(1001);
  EXPECT_THAT([&] { validate(many); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("1001 zones")));
}

TEST(EventRules, KeepWhatTheyWereIfReadingFails) {
  EventRules rules = valid_rules().get<EventRules>();
  const EventRules before = rules;
  nlohmann::json wrong = valid_rules();
  wrong["zones"][0]["name"] = "other";
  EXPECT_THROW(wrong.get_to(rules), InvalidArgument);
  EXPECT_EQ(rules, before);
}

TEST(EventRules, AreReadOrRefusedWhateverIsDamaged) {
  Mutator mutate(5);
  const std::string valid = example_rules();
  int read = 0, refused = 0;
  for (int i = 0; i < 6'000; ++i) {
    const nlohmann::json json = nlohmann::json::parse(mutate(valid), nullptr, false);
    if (json.is_discarded()) continue;
    try {
      const auto rules = json.get<EventRules>();
      EXPECT_EQ(nlohmann::json(rules).get<EventRules>(), rules);
      ++read;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 20);
  EXPECT_GT(refused, 50);
}

TEST(EventRules, AreReadOrRefusedWhicheverValueIsReplaced) {
  const nlohmann::json valid = nlohmann::json::parse(example_rules());
  const std::vector<nlohmann::json> others{
      nullptr,    true,  -1, 1e308, "", "x", nlohmann::json::array(), nlohmann::json::object(),
      {{"a", 1}}, {1, 2}};
  const nlohmann::json leaves = valid.flatten();
  for (const auto& [pointer, leaf] : leaves.items())
    for (nlohmann::json::json_pointer place(pointer); !place.empty(); place.pop_back())
      for (const nlohmann::json& other : others) {
        nlohmann::json json = valid;
        json[place] = other;
        try {
          validate(json.get<EventRules>());
        } catch (const InvalidArgument& error) {
          EXPECT_GT(std::string(error.what()).size(), 10u);
        }
      }
}

}  // namespace
}  // namespace vcap::test
