# SPDX-License-Identifier: Apache-2.0
# For all scripts: no command is silent for more than ten seconds, also in a pipe.
#   . cmake/progress.sh

# Runs a command. If it prints nothing for eight seconds, prints LABEL and the seconds since the script began.
# All output goes to standard output, also what the command writes while it ends after Ctrl-C.
#   with_ticks LABEL COMMAND …
with_ticks() {
  local label=$1 line status
  shift
  "$@" 2>&1 | {
    trap '' INT TERM
    while true; do
      status=0
      IFS= read -r -t 8 line || status=$?
      if [ "$status" -eq 0 ]; then printf '%s\n' "$line"
      elif [ "$status" -gt 128 ]; then printf '%s%s, %s s\n' "$line" "$label" "$SECONDS"
      else printf '%s' "$line"; break
      fi
    done
  }
}

# The same for a command that shows its own progress if standard error is a terminal.
#   with_ticks_in_pipe LABEL COMMAND …
with_ticks_in_pipe() {
  if [ -t 2 ]; then "${@:2}"; else with_ticks "$@"; fi
}

# Configures by `cmake ARGUMENT …`. Its output goes to build/configure.log, and is printed if it fails.
#   configure_with_ticks LABEL ARGUMENT …
configure_with_ticks() {
  mkdir -p build
  with_ticks "$1" cmake_into_log "${@:2}" || { cat build/configure.log; return 1; }
}
cmake_into_log() { cmake "$@" >build/configure.log; }

# Builds with Ninja by `cmake --build`; prints the progress in percent, and errors.
#   build_with_progress LABEL FOLDER [--target …]
build_with_progress() {
  local label=$1 line status percent='  0' last=-9
  shift
  NINJA_STATUS='%p ' cmake --build "$@" 2>&1 | while true; do
    status=0
    IFS= read -r -t 4 line || status=$?
    if [ "$status" -gt 0 ] && [ "$status" -le 128 ]; then break; fi
    if [[ $line =~ ^([\ 0-9]+)%\  ]]; then
      percent=${BASH_REMATCH[1]}
    elif [ "$status" -eq 0 ] && [ "${line#ninja: }" = "$line" ]; then
      printf '%s\n' "$line"
    fi
    if [ $((SECONDS - last)) -ge 5 ]; then
      printf '%s %s %%\n' "$label" "$percent"
      last=$SECONDS
    fi
  done
}
