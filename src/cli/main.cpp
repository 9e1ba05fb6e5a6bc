// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "vcap/base/version.hpp"

int main() { std::cout << "vcap " << vcap::version() << '\n'; }
