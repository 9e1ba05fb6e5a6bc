// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"

#include "vcap/base/error.hpp"

namespace vcap::cli {

const char* const kExitCodesHelp =
    "Exit codes: 0 done, 1 failed while running, 2 wrong usage, 3 invalid capsule, 4 incompatible "
    "capsule, 5 no device, 6 source, 7 output, 8 resource, 9 a capsule did not return in time when "
    "vcap run ended, 10 a capsule ended the process, 11 the broker of a "
    "cluster, 130 vcap run stopped by a third Ctrl-C or "
    "SIGTERM.";

int exit_code_of(const std::exception& error) noexcept {
  if (dynamic_cast<const UsageError*>(&error)) return kUsage;
  if (dynamic_cast<const DeviceError*>(&error)) return kNoDevice;
  if (dynamic_cast<const SourceError*>(&error)) return kSource;
  if (dynamic_cast<const OutputError*>(&error)) return kOutput;
  if (dynamic_cast<const ResourceError*>(&error)) return kResource;
  if (dynamic_cast<const ClusterError*>(&error)) return kCluster;
  if (dynamic_cast<const IncompatibleCapsuleError*>(&error)) return kIncompatibleCapsule;
  // A capsule whose own code fails during loading is as invalid as one whose file is broken.
  if (dynamic_cast<const CapsuleLoadError*>(&error)) return kInvalidCapsule;
  // Arguments of the command line that do not fit together.
  if (dynamic_cast<const PlanError*>(&error) || dynamic_cast<const OptionError*>(&error) ||
      dynamic_cast<const InvalidArgument*>(&error))
    return kUsage;
  return kFailed;
}

int exit_code_of_stream(const std::exception_ptr& cause) noexcept {
  try {
    if (cause) std::rethrow_exception(cause);
  } catch (const SourceError&) {
    return kSource;
  } catch (const OutputError&) {
    return kOutput;
  } catch (...) {
  }
  return kFailed;
}

}  // namespace vcap::cli
