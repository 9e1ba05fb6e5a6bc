// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vcap {

/// The files of src/view/page, in this library.
extern const char* const kLivePageHtml;
extern const char* const kLivePageCss;
extern const char* const kLivePageScript;

}  // namespace vcap
