// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vcap::cli {

/// Files and their labels, in the natural order of the files' names. `vcap run` takes the images of
/// a folder or a glob in the same order.
using EvalLabels = std::vector<std::pair<std::string, std::string>>;

/// Reads a folder with a folder for each label, a CSV file of lines "file,label", or a JSON object
/// of file to label. Files of folders are named "label/file". Throws SourceError if it cannot be
/// read; InvalidArgument, with the place of an error, if it is invalid or has no labels.
EvalLabels read_labels(const std::string& path);

}  // namespace vcap::cli
