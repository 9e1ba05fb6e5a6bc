// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/make_annotators.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/blur_annotator.hpp"
#include "vcap/image/box_annotator.hpp"
#include "vcap/image/counter_annotator.hpp"
#include "vcap/image/heat_map_annotator.hpp"
#include "vcap/image/keypoint_annotator.hpp"
#include "vcap/image/label_annotator.hpp"
#include "vcap/image/label_map_annotator.hpp"
#include "vcap/image/mask_annotator.hpp"
#include "vcap/image/pixelate_annotator.hpp"
#include "vcap/image/polygon_annotator.hpp"
#include "vcap/image/trail_annotator.hpp"
#include "vcap/image/zone_annotator.hpp"

namespace vcap {
namespace {

using Part = std::unique_ptr<Annotator>;

constexpr std::string_view kLabelMap = "label-map";
constexpr std::string_view kZones = "zones";

[[noreturn]] void refuse_list(const std::string& why) {
  throw InvalidArgument(ErrorCode::invalid_argument, "annotators: " + why);
}

/// What a part is made from.
struct PartSettings {
  AnnotatorStyle style;               ///< with the names of the part
  bool with_boxes;                    ///< whether the list has parts that draw boxes
  std::optional<ZoneSettings> zones;  ///< those of the list
};

/// A part, its name and how it is made.
struct KnownPart {
  std::string_view name, description;
  Part (*make)(const PartSettings& given);
};

template <BoxSettings::Shape shape>
Part make_boxes(const PartSettings& given) {
  return std::make_unique<BoxAnnotator>(BoxSettings{.shape = shape, .style = given.style});
}

template <class Annotator, class Settings>
Part make_part(const PartSettings& given) {
  Settings settings{};
  settings.style = given.style;
  return std::make_unique<Annotator>(std::move(settings));
}

Part make_polygons(const PartSettings& given) {
  return std::make_unique<PolygonAnnotator>(
      PolygonSettings{.upright_boxes = !given.with_boxes, .style = given.style});
}

Part make_short_labels(const PartSettings& given) {
  return std::make_unique<LabelAnnotator>(LabelSettings{.attributes = false, .style = given.style});
}

Part make_label_map(const PartSettings& given) {
  return std::make_unique<LabelMapAnnotator>(LabelMapSettings{.picture = given.style.names.at(0)});
}

Part make_zones(const PartSettings& given) {
  if (!given.zones)
    refuse_list("part " + quote(kZones) +
                " draws zones and lines, and there are none; give them, or leave the part out");
  ZoneSettings settings = *given.zones;
  if (const std::vector<std::string>& names = given.style.names; !names.empty()) {
    const auto is_other = [&names](const auto& drawn) {
      return std::ranges::find(names, drawn.name) == names.end();
    };
    std::erase_if(settings.zones, is_other);
    std::erase_if(settings.lines, is_other);
  }
  return std::make_unique<ZoneAnnotator>(std::move(settings));
}

constexpr std::array kParts{
    KnownPart{"blur", "blurs nodes", make_part<BlurAnnotator, BlurSettings>},
    KnownPart{"boxes", "the box of each node", make_boxes<BoxSettings::Shape::rectangle>},
    KnownPart{"corners", "the corners of each box", make_boxes<BoxSettings::Shape::corners>},
    KnownPart{"counters", "how many nodes of each name there are, and counts of line_counter",
              make_part<CounterAnnotator, CounterSettings>},
    KnownPart{"heat-map", "where nodes have been", make_part<HeatMapAnnotator, HeatMapSettings>},
    KnownPart{"keypoints", "keypoints, and the skeleton of a person",
              make_part<KeypointAnnotator, KeypointSettings>},
    KnownPart{kLabelMap, "a picture of labels that a capsule gives: label-map:PICTURE",
              make_label_map},
    KnownPart{"labels", "name, confidence, track and attributes of each node",
              make_part<LabelAnnotator, LabelSettings>},
    KnownPart{"masks", "the filled outline of each node", make_part<MaskAnnotator, MaskSettings>},
    KnownPart{"pixelate", "replaces nodes by a few squares",
              make_part<PixelateAnnotator, PixelateSettings>},
    KnownPart{"polygons", "the outline of each node", make_polygons},
    KnownPart{"rounded-boxes", "boxes with rounded corners",
              make_boxes<BoxSettings::Shape::rounded>},
    KnownPart{"short-labels", "labels without attributes", make_short_labels},
    KnownPart{"trails", "the way of each track over the last seconds",
              make_part<TrailAnnotator, TrailSettings>},
    KnownPart{kZones, "zones and lines, such as those of event rules", make_zones}};

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end; (end = text.find(separator)) != std::string_view::npos;
       text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> names;
  names.reserve(kParts.size());
  for (const KnownPart& part : kParts) names.push_back(part.name);
  return names;
}

const KnownPart& find_part(std::string_view name) {
  const auto* const found = std::ranges::find(kParts, name, &KnownPart::name);
  if (found != kParts.end()) return *found;
  const std::vector<std::string_view> names = known_names();
  refuse_list("part " + quote(name) + " is not known" + suggestion(name, names) +
              " (known: " + quote_list(names) + ")");
}

/// What one item of the list asks for.
struct WantedPart {
  const KnownPart* part;
  std::vector<std::string> names;  ///< after the colon
};

WantedPart parse_part(std::string_view item) {
  if (item.empty())
    refuse_list("a part of the list is empty; give names separated by commas, such as " +
                quote(kDefaultAnnotators));
  const std::size_t colon = item.find(':');
  WantedPart wanted{.part = &find_part(item.substr(0, colon)), .names = {}};
  if (colon != std::string_view::npos)
    for (const std::string_view name : split_at(item.substr(colon + 1), '+')) {
      if (name.empty())
        refuse_list("part " + quote(item) +
                    " has an empty name after its colon; give names separated by '+', such as "
                    "\"boxes:person+car\"");
      wanted.names.emplace_back(name);
    }
  if (wanted.part->name == kLabelMap && wanted.names.size() != 1)
    refuse_list("part " + quote(item) +
                " needs the name of one picture, such as \"label-map:mask\"");
  return wanted;
}

bool draws_boxes(const WantedPart& wanted) {
  return wanted.part->name == "boxes" || wanted.part->name == "corners" ||
         wanted.part->name == "rounded-boxes";
}

}  // namespace

std::vector<AnnotatorName> annotator_names() {
  std::vector<AnnotatorName> names;
  names.reserve(kParts.size());
  for (const KnownPart& part : kParts)
    names.push_back({std::string(part.name), std::string(part.description)});
  return names;
}

std::unique_ptr<Annotators> make_annotators(std::string_view list, const AnnotatorStyle& style,
                                            const std::optional<ZoneSettings>& zones) {
  std::vector<WantedPart> parts;
  for (const std::string_view item : split_at(list, ',')) parts.push_back(parse_part(item));
  const bool with_boxes = std::ranges::any_of(parts, draws_boxes);
  auto annotators = std::make_unique<Annotators>();
  for (WantedPart& wanted : parts) {
    PartSettings own{.style = style, .with_boxes = with_boxes, .zones = zones};
    // The names after the colon of "zones" are those of zones, not of nodes.
    if (wanted.part->name == kZones) own.style.names.clear();
    if (!wanted.names.empty()) own.style.names = std::move(wanted.names);
    annotators->add(wanted.part->make(own));
  }
  return annotators;
}

}  // namespace vcap
