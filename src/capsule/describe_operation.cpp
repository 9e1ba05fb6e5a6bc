// SPDX-License-Identifier: Apache-2.0
#include "capsule/describe_operation.hpp"

#include "base/text.hpp"

namespace vcap::detail {
namespace {

template <class List, class Word>
std::string listed(const List& list, Word word) {
  std::string text;
  for (const auto& element : list) text += (text.empty() ? "" : ", ") + std::string(word(element));
  return text;
}

std::string frames(std::int64_t count) { return counted(count, "frame"); }

const char* describe_edge(StencilEdge edge) {
  switch (edge) {
    case StencilEdge::repeat:
      return "the nearest one beyond an edge";
    case StencilEdge::null:
      return "a null frame beyond an edge";
    case StencilEdge::error:
      return "no call at an edge";
  }
  return "";
}

}  // namespace

std::string describe_state(const CapsuleInfo& info) {
  if (!info.stream_state) return "stateless";
  std::string text =
      info.warmup ? "bounded state, warm-up of " + frames(*info.warmup) : "unbounded state";
  if (!info.keeps_state_at.empty())
    text +=
        "; kept at " + listed(info.keeps_state_at, [](Discontinuity at) { return to_string(at); });
  return text;
}

std::string describe_stencil(const Stencil& stencil) {
  std::string text = "frames " +
                     listed(stencil.offsets, [](int offset) { return std::to_string(offset); }) +
                     " together, " + describe_edge(stencil.edge);
  if (stencil.ahead() > 0) text += "; records wait for " + frames(stencil.ahead()) + " more";
  return text;
}

std::string describe_batch(const BatchSizes& batch) {
  std::string text = "up to " + counted(batch.maximum, "input") + " at once";
  if (batch.preferred > 0) text += ", " + std::to_string(batch.preferred) + " preferred";
  return text;
}

std::vector<std::string> describe_operation(const CapsuleInfo& info) {
  std::vector<std::string> words;
  if (info.stream_state) words.push_back(describe_state(info));
  if (info.stencil) words.push_back(describe_stencil(*info.stencil));
  if (info.batch) words.push_back(describe_batch(*info.batch));
  return words;
}

}  // namespace vcap::detail
