// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan_member.hpp"
#include "vcap/model/picture_description.hpp"

namespace vcap {

/// Null if there is none of that name.
const PictureDescription* find_picture(const std::vector<PictureDescription>& pictures,
                                       const std::string& name);

/// Two members that give a picture of the same name: the later one does not fit.
std::optional<PlanFault> find_duplicate_picture(const Members& members);

/// A picture that a member takes and no other gives, or gives in another form. `left_out`: members
/// that would perhaps give it.
std::optional<PlanFault> find_unfit_picture(const Members& members, const Members& left_out);

}  // namespace vcap
