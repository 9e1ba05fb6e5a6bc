// SPDX-License-Identifier: Apache-2.0
#include <vcap/vcap.hpp>
