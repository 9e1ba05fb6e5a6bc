// SPDX-License-Identifier: Apache-2.0
#include "vcap/plan/plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "capsule/describe_operation.hpp"
#include "plan/plan_member.hpp"
#include "plan/plan_phrases.hpp"
#include "plan/plan_pictures.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using plan_phrases::describe;
using plan_phrases::Names;

/// The `names` that an input with the list `wanted` takes; without a list it takes any.
Names taken(const Names& wanted, const Names& names) {
  return wanted.empty() ? names : plan_phrases::common(wanted, names);
}

/// Everything in `gives` that `needs` asks for. Attribute values must overlap: a category provides
/// nothing if the other side knows none of its values.
NodeDescription provided(const NodeDescription& gives, const NodeDescription& needs) {
  NodeDescription found;
  found.detections = taken(needs.detections, gives.detections);
  for (const auto& [category, allowed] : needs.attributes) {
    const auto given = gives.attributes.find(category);
    if (given == gives.attributes.end()) continue;
    Names values = plan_phrases::common(given->second, allowed);
    if (!values.empty() || allowed.empty()) found.attributes.emplace(category, std::move(values));
  }
  found.encoded = needs.encoded && gives.encoded;
  found.tracked = needs.tracked && gives.tracked;
  found.keypoints = plan_phrases::common(needs.keypoints, gives.keypoints);
  found.extra_data = plan_phrases::common(needs.extra_data, gives.extra_data);
  return found;
}

/// What `needs` still lacks beyond `supply`, names apart. Of an attribute, any common value is
/// enough.
NodeDescription without_supplied(const NodeDescription& needs, const NodeDescription& supply) {
  NodeDescription missing = needs;
  for (const auto& [category, values] : supply.attributes) missing.attributes.erase(category);
  missing.encoded = needs.encoded && !supply.encoded;
  missing.tracked = needs.tracked && !supply.tracked;
  missing.keypoints = plan_phrases::without(needs.keypoints, supply.keypoints);
  missing.extra_data = plan_phrases::without(needs.extra_data, supply.extra_data);
  return missing;
}

NodeDescription nodes_of(const PlanMember& provider, const PlanMember& consumer) {
  const bool takes_nodes = consumer.info->input_type.size != NodeDescription::Size::none;
  // A property reaches the consumer only on nodes whose name both know.
  if (!takes_nodes || provider.place == consumer.place || names_between(provider, consumer).empty())
    return {};
  return provided(provider.adds, consumer.info->input_type);
}

/// What one member provides to another; may be empty.
Supply supply_of(const PlanMember& provider, const PlanMember& consumer) {
  Supply supply{.nodes = nodes_of(provider, consumer)};
  for (const PictureDescription& taken : consumer.info->takes_pictures)
    if (find_picture(provider.info->gives_pictures, taken.name))
      supply.pictures.push_back(taken.name);
  return supply;
}

Members members_of(const std::vector<CapsuleInfo>& capsules) {
  Members members;
  for (std::size_t place = 0; place < capsules.size(); ++place) {
    const CapsuleInfo& info = capsules[place];
    // Without input nodes, everything in the output is the capsule's own.
    members.push_back({.place = place,
                       .info = &info,
                       .adds = info.input_type.size == NodeDescription::Size::none
                                   ? info.output_type
                                   : info.output_type.difference(info.input_type),
                       .names = info.output_type.detections});
  }
  return members;
}

/// Whether the output type leaves the names to the nodes that come in.
bool passes_names(const PlanMember& member) {
  const NodeDescription& output = member.info->output_type;
  return output.size != NodeDescription::Size::none && output.detections.empty();
}

/// The names of the nodes that reach a member with everything that it needs.
Names arriving_names(const PlanMember& consumer, const Members& members) {
  Names arriving;
  for (const auto& [finder, found] : consumer.fed_by)
    for (const std::string& name : found.nodes.detections) {
      NodeDescription missing = consumer.info->input_type;
      for (const auto& [provider, supply] : consumer.fed_by)
        if (plan_phrases::contains(names_between(members[provider], consumer), name))
          missing = without_supplied(missing, supply.nodes);
      if (plan_phrases::properties(missing).empty() && !plan_phrases::contains(arriving, name))
        arriving.push_back(name);
    }
  return arriving;
}

/// A member that passes names on may feed others, and so bring names to further ones: repeats until
/// no name is new. Names only become more, so it ends.
void connect(Members& members) {
  for (PlanMember& member : members)
    if (passes_names(member)) member.names.clear();
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (PlanMember& consumer : members) {
      consumer.fed_by.clear();
      for (std::size_t provider = 0; provider < members.size(); ++provider) {
        Supply supply = supply_of(members[provider], consumer);
        if (!supply.text().empty()) consumer.fed_by.emplace(provider, std::move(supply));
      }
      if (!passes_names(consumer)) continue;
      Names names = arriving_names(consumer, members);
      has_changed = has_changed || names.size() != consumer.names.size();
      consumer.names = std::move(names);
    }
  }
}

std::optional<PlanFault> find_duplicate(const Members& members) {
  std::map<std::string, std::size_t> places;
  for (std::size_t position = 0; position < members.size(); ++position) {
    const std::string& name = members[position].info->name;
    const std::size_t place = members[position].place;
    const auto [first, fresh] = places.emplace(name, place);
    if (!fresh)
      return PlanFault{ErrorCode::duplicate_capsule, position,
                       "capsule " + name + " is given twice, at places " +
                           std::to_string(first->second + 1) + " and " + std::to_string(place + 1) +
                           "; names must be unique in a pipeline: leave one out"};
  }
  return std::nullopt;
}

/// "attribute upper_color (red, blue)": the values may be the reason why nothing fits.
std::string with_values(const NodeDescription& needs, const std::string& property) {
  constexpr std::string_view kAttribute = "attribute ";
  if (property.rfind(kAttribute, 0) != 0) return property;
  return property + " (" +
         plan_phrases::join(needs.attributes.at(property.substr(kAttribute.size()))) + ")";
}

/// The first thing that a member needs and that no supply has: a property, or "" for nodes of its
/// names. `nullopt` if nothing is missing.
std::optional<std::string> missing_in(const std::map<std::size_t, Supply>& supplies,
                                      const NodeDescription& needs) {
  if (needs.size == NodeDescription::Size::none) return std::nullopt;
  bool named = false;
  std::set<std::string> found;
  for (const auto& [provider, supply] : supplies) {
    named = named || !supply.nodes.detections.empty();
    for (std::string& property : plan_phrases::properties(supply.nodes))
      found.insert(std::move(property));
  }
  if (!named) return "";
  for (std::string& property : plan_phrases::properties(needs))
    if (!found.contains(property)) return std::move(property);
  return std::nullopt;
}

bool has(const NodeDescription& supply, const std::string& missing) {
  return missing.empty() ? !supply.detections.empty()
                         : plan_phrases::contains(plan_phrases::properties(supply), missing);
}

/// What a member adds to frames, nodes and pictures.
Names additions(const PlanMember& member) {
  Names words;
  if (std::string nodes = describe(member.adds); !nodes.empty()) words.push_back(std::move(nodes));
  for (std::string& picture : plan_phrases::describe(member.info->gives_pictures, true))
    words.push_back(std::move(picture));
  return words;
}

/// What the other members offer instead, and which left-out member would have provided it.
std::string offers_to(const PlanMember& consumer, const std::string& missing,
                      const Members& members, const Members& left_out) {
  std::string offers;
  for (const PlanMember& provider : members) {
    if (provider.place == consumer.place) continue;
    const std::string words = plan_phrases::join(additions(provider));
    if (!words.empty())
      offers += (offers.empty() ? "" : "; ") + provider.info->name + " provides " + words;
  }
  if (offers.empty())
    offers = members.size() > 1 ? "the others provide nothing"
             : left_out.empty() ? "no other capsule is given"
                                : "all others are left out";
  for (const PlanMember& provider : left_out)
    if (has(nodes_of(provider, consumer), missing))
      offers += "; " + provider.info->name + ", which would provide it, is left out";
  return offers;
}

std::optional<PlanFault> find_unsatisfied(const Members& members, const Members& left_out) {
  for (std::size_t position = 0; position < members.size(); ++position) {
    const PlanMember& consumer = members[position];
    const NodeDescription& needs = consumer.info->input_type;
    const std::optional<std::string> missing = missing_in(consumer.fed_by, needs);
    if (!missing) continue;
    const std::string nodes = needs.detections.empty()
                                  ? "nodes of any name"
                                  : "nodes named " + plan_phrases::join(needs.detections, " or ");
    return PlanFault{
        ErrorCode::unsatisfied_input, position,
        "capsule " + consumer.info->name + " needs " +
            (missing->empty() ? nodes : with_values(needs, *missing) + " on " + nodes) +
            ", which no other capsule provides (" +
            offers_to(consumer, *missing, members, left_out) + "); add a capsule that provides it"};
  }
  return std::nullopt;
}

/// The members that can be ordered. All others are in a cycle or depend on one.
std::vector<std::size_t> order_of(const Members& members) {
  std::vector<std::size_t> order;
  std::vector<bool> placed(members.size(), false);
  while (order.size() < members.size()) {
    // Taking the first member that is ready keeps the given order if possible.
    std::size_t next = 0;
    while (next < members.size() &&
           (placed[next] || !std::all_of(members[next].fed_by.begin(), members[next].fed_by.end(),
                                         [&](const auto& feeder) { return placed[feeder.first]; })))
      ++next;
    if (next == members.size()) break;
    placed[next] = true;
    order.push_back(next);
  }
  return order;
}

/// Follows the feeders of a member that could not be placed, until a member repeats.
std::optional<PlanFault> find_cycle(const Members& members) {
  const std::vector<std::size_t> order = order_of(members);
  if (order.size() == members.size()) return std::nullopt;
  const auto is_placed = [&order](std::size_t position) {
    return std::find(order.begin(), order.end(), position) != order.end();
  };
  std::vector<std::size_t> way;
  std::size_t at = 0;
  while (is_placed(at)) ++at;
  while (std::find(way.begin(), way.end(), at) == way.end()) {
    way.push_back(at);
    at =
        std::find_if(members[at].fed_by.begin(), members[at].fed_by.end(), [&](const auto& feeder) {
          return !is_placed(feeder.first);
        })->first;
  }
  // The path goes from consumer to provider; the message goes from provider to consumer.
  std::string cycle = members[at].info->name;
  std::string supplies;
  std::size_t last_given = at;
  std::size_t provider = at;
  for (auto back = way.rbegin(); back != way.rend(); ++back) {
    const PlanMember& consumer = members[*back];
    cycle += " → " + consumer.info->name;
    supplies += (supplies.empty() ? "" : "; ") + consumer.info->name + " needs " +
                consumer.fed_by.at(provider).text() + " of " + members[provider].info->name;
    provider = *back;
    last_given = std::max(last_given, provider);
    if (provider == at) break;
  }
  return PlanFault{ErrorCode::plan_cycle, last_given,
                   "the capsules depend on each other in a cycle: " + cycle + " (" + supplies +
                       "); leave one of them out"};
}

std::optional<PlanFault> find_fault(const Members& members, const Members& left_out) {
  std::optional<PlanFault> fault = find_duplicate(members);
  if (!fault) fault = find_duplicate_picture(members);
  if (!fault) fault = find_unsatisfied(members, left_out);
  if (!fault) fault = find_unfit_picture(members, left_out);
  if (!fault) fault = find_cycle(members);
  return fault;
}

Plan::Step step_of(const PlanMember& member, const Members& members) {
  Plan::Step step;
  step.capsule = member.place;
  step.name = member.info->name;
  step.needs = member.info->input_type;
  step.adds = member.adds;
  step.takes_pictures = member.info->takes_pictures;
  step.gives_pictures = member.info->gives_pictures;
  step.over_time = detail::describe_operation(*member.info);
  if (step.needs.size == NodeDescription::Size::none && step.takes_pictures.empty())
    step.reasons.emplace_back("It needs nothing but the frame.");
  for (const auto& [provider, supply] : member.fed_by) {
    step.fed_by.push_back(members[provider].place);
    step.supplies.push_back(supply.text());
    step.reasons.push_back("It comes after " + members[provider].info->name + ", which provides " +
                           step.supplies.back() + ".");
  }
  if (passes_names(member) && !member.names.empty())
    step.reasons.push_back(
        "Its nodes keep their names: " + plan_phrases::join(member.names, " or ") + ".");
  return step;
}

}  // namespace

std::string Supply::text() const {
  Names words;
  if (std::string text = describe(nodes); !text.empty()) words.push_back(std::move(text));
  for (const std::string& name : pictures) words.push_back("picture " + name);
  return plan_phrases::join(words);
}

Names names_between(const PlanMember& provider, const PlanMember& consumer) {
  return taken(consumer.info->input_type.detections, provider.names);
}

Plan::Plan(const std::vector<CapsuleInfo>& capsules, UnfitPolicy unfit) {
  Members members = members_of(capsules);
  Members unfit_members;
  connect(members);
  while (const std::optional<PlanFault> fault = find_fault(members, unfit_members)) {
    if (unfit == UnfitPolicy::refuse) throw PlanError(fault->code, fault->text);
    const auto out = members.begin() + static_cast<std::ptrdiff_t>(fault->position);
    left_out_.push_back({out->place, out->info->name, fault->text});
    unfit_members.push_back(std::move(*out));
    members.erase(out);
    connect(members);
  }
  const std::vector<std::size_t> order = order_of(members);
  for (const std::size_t position : order) {
    steps_.push_back(step_of(members[position], members));
    const std::optional<Stencil>& stencil = members[position].info->stencil;
    if (stencil) look_ahead_ += stencil->ahead();
  }
  conflicts_ = conflicts_of(members, order);
}

}  // namespace vcap
