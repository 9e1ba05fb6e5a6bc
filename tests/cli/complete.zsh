# SPDX-License-Identifier: Apache-2.0
# Types LINE and a tab into an interactive zsh that has read the completion SCRIPT. Prints what the
# terminal shows until it matches PATTERN; otherwise it does not end.
#   zsh complete.zsh SCRIPT LINE PATTERN
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -U compinit; compinit -u -D; source ${(q)1}; print re''ady"
zpty -r shell seen '*ready*'
zpty -n -w shell "$2"$'\t'
zpty -r shell seen "*$3*"
print -r -- $seen
