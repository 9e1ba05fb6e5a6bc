// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_pictures.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "plan/plan_phrases.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using plan_phrases::Names;

/// The pictures that the other members give, and which left-out member would have given this one.
std::string offers_of_pictures(const PlanMember& consumer, const std::string& picture,
                               const Members& members, const Members& left_out) {
  std::string offers;
  for (const PlanMember& provider : members) {
    const Names words = plan_phrases::describe(provider.info->gives_pictures, true);
    if (provider.place != consumer.place && !words.empty())
      offers += (offers.empty() ? "" : "; ") + provider.info->name + " gives " +
                plan_phrases::join(words);
  }
  if (offers.empty()) offers = "no other capsule gives pictures";
  for (const PlanMember& provider : left_out)
    if (find_picture(provider.info->gives_pictures, picture))
      offers += "; " + provider.info->name + ", which would give it, is left out";
  return offers;
}

}  // namespace

const PictureDescription* find_picture(const std::vector<PictureDescription>& pictures,
                                       const std::string& name) {
  const auto found = std::ranges::find(pictures, name, &PictureDescription::name);
  return found != pictures.end() ? &*found : nullptr;
}

std::optional<PlanFault> find_duplicate_picture(const Members& members) {
  std::map<std::string, std::string> givers;
  for (std::size_t position = 0; position < members.size(); ++position)
    for (const PictureDescription& picture : members[position].info->gives_pictures) {
      const std::string& name = members[position].info->name;
      const auto [first, fresh] = givers.emplace(picture.name, name);
      if (!fresh)
        return PlanFault{ErrorCode::duplicate_picture, position,
                         "capsules " + first->second + " and " + name + " both give picture " +
                             picture.name +
                             "; a picture's name is unique in a pipeline: leave one of them out"};
    }
  return std::nullopt;
}

std::optional<PlanFault> find_unfit_picture(const Members& members, const Members& left_out) {
  for (std::size_t position = 0; position < members.size(); ++position) {
    const PlanMember& consumer = members[position];
    for (const PictureDescription& taken : consumer.info->takes_pictures) {
      const auto provider = std::ranges::find_if(members, [&](const PlanMember& one) {
        return find_picture(one.info->gives_pictures, taken.name) != nullptr;
      });
      if (provider == members.end())
        return PlanFault{ErrorCode::unsatisfied_input, position,
                         "capsule " + consumer.info->name + " takes picture " + to_string(taken) +
                             ", which no other capsule gives (" +
                             offers_of_pictures(consumer, taken.name, members, left_out) +
                             "); add a capsule that gives it"};
      const PictureDescription& given = *find_picture(provider->info->gives_pictures, taken.name);
      if (!fits(given, taken))
        return PlanFault{ErrorCode::type_mismatch, position,
                         "capsule " + consumer.info->name + " takes picture " + to_string(taken) +
                             ", but capsule " + provider->info->name + " gives picture " +
                             to_string(given) + "; use versions of them that agree"};
    }
  }
  return std::nullopt;
}

}  // namespace vcap
