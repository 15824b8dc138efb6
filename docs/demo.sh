#!/bin/sh
# The example blackboard, used as a person and three agents would. Works on a copy; nothing of it is played.
set -eu
example=$(cd "$(dirname "$0")/../.liza.example" && pwd)
board=$(mktemp -d)
trap 'rm -rf "$board"' EXIT
cp -R "$example" "$board/.liza"
cd "$board"

unset LIZA_ROOT
if [ -t 1 ]; then bold=$(printf '\033[1m') blue=$(printf '\033[36m') plain=$(printf '\033[0m'); else bold='' blue='' plain=''; fi
say() { printf '\n%s# %s%s\n' "$bold" "$1" "$plain"; }
show() { printf '%s$ %s%s\n' "$blue" "$*" "$plain"; }
run() { show "$@"; "$@" 2>&1 || printf '(exit code %d)\n' "$?"; }

say "A blackboard that three coding agents share. Is it in order?"
run liza validate

say "An agent's hook reports what happened to it."
cp .liza/state.yaml before.yaml
run liza log anomaly --type retry_loop --task task-6 --reporter coder-3 count=3 \
  "error_pattern=serialization failure on nested entity at line 8"

say "That is all that changed in the file: every comment and every other byte is as it was."
show diff -u before.yaml .liza/state.yaml
diff -u before.yaml .liza/state.yaml || true

say "A record that says too little is not written, and the answer says what is missing."
run liza log anomaly --type external_blocker --task task-5 --reporter coder-2

say "People edit the file by hand. A mistake is found with its line and column."
sed 's/status: REJECTED/status: REJECTD/; s/debt_created: true/debt_created: "true"/' .liza/state.yaml > edited.yaml
run liza validate edited.yaml
