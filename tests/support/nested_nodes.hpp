// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include "vcap/model/detection_nodes.hpp"

namespace vcap::test {

// Made from the inside, by moves, since copies of so many levels exhaust the stack.

/// A person with that many levels of persons, itself included.
inline DetectionNode nested_person(std::size_t levels) {
  DetectionNode node{.name = "person"};
  for (; levels > 1; --levels) {
    DetectionNode above{.name = "person"};
    above.children.push_back(std::move(node));
    node = std::move(above);
  }
  return node;
}

/// A list of that person.
inline DetectionNodes nested_persons(std::size_t levels) {
  DetectionNodes nodes = DetectionNodes::all();
  nodes.add(nested_person(levels));
  return nodes;
}

/// That many lists, each of which has the next one.
inline nlohmann::json nested_lists(std::size_t levels) {
  nlohmann::json lists = nlohmann::json::array();
  for (; levels > 1; --levels) {
    nlohmann::json outer = nlohmann::json::array();
    outer.push_back(std::move(lists));
    lists = std::move(outer);
  }
  return lists;
}

}  // namespace vcap::test
