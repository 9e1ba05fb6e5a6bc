// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vcap/model/node_description.hpp"
#include "vcap/model/picture_description.hpp"

/// Words for node descriptions in plans.
namespace vcap::plan_phrases {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name);
/// The elements of `a` that are in `b`.
Names common(const Names& a, const Names& b);
/// The elements of `a` that are not in `b`.
Names without(const Names& a, const Names& b);
std::string join(const Names& names, std::string_view between = ", ");

/// The properties of a description, without names: "attribute upper_color", "tracked", ….
Names properties(const NodeDescription& description);
/// Names and properties of a description; empty if it has none.
std::string describe(const NodeDescription& description);
/// "picture mask" of each, or with their types: "picture mask (8UC1, as large as the frame)".
Names describe(const std::vector<PictureDescription>& pictures, bool with_type);
/// An input type in words: "one node at a time: person, tracked".
std::string describe_needs(const NodeDescription& needs);

}  // namespace vcap::plan_phrases
