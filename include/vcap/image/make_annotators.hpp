// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/image/annotator.hpp"
#include "vcap/image/zone_annotator.hpp"

namespace vcap {

/// A part that make_annotators() knows. Thread safety: value.
struct AnnotatorName {
  std::string name{};         ///< such as "heat-map"
  std::string description{};  ///< what it draws, in a few words
};

/// All parts, in the order of their names. Thread-safe.
VCAP_EXPORT std::vector<AnnotatorName> annotator_names();

/// What draw_nodes() draws, as a list for make_annotators().
inline constexpr std::string_view kDefaultAnnotators = "boxes,polygons,labels";

/// Makes annotators from a list of their names, with their default settings, in the order in which
/// they are drawn: "blur:face,trails,boxes,labels".
///
/// Names are separated by commas. After a colon follow the names of the nodes that the part draws,
/// separated by '+': "boxes:person+car"; without them it draws all nodes. "label-map:PICTURE" has
/// the name of a picture there, and "zones:door+path" draws these of `zones`, if it has them.
///
/// `zones`: what the part "zones" draws, in its own style. Without them, the list must not have
/// that part.
///
/// Throws InvalidArgument for an empty list or part, an unknown name (the message lists the known
/// ones and says which is the nearest), label-map without a picture, the part "zones" without
/// `zones`, and what ZoneAnnotator() throws. Thread-safe.
VCAP_EXPORT std::unique_ptr<Annotators> make_annotators(
    std::string_view list, const AnnotatorStyle& style = {},
    const std::optional<ZoneSettings>& zones = std::nullopt);

}  // namespace vcap
