// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vcap::cli {

/// Files and their labels, by natural order of the files' names: that in which `vcap run` takes the
/// images of a folder or a glob.
using EvalLabels = std::vector<std::pair<std::string, std::string>>;

/// Reads a folder with a folder for each label, a CSV file of lines "file,label", or a JSON object
/// of file to label. Files of folders are named "label/file". Throws SourceError where it cannot be
/// read; InvalidArgument with the place of what is wrong, or where it has no labels.
EvalLabels read_labels(const std::string& path);

}  // namespace vcap::cli
