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

say "A blackboard that three coding agents share. Two of them met the same error; is anything systemic yet?"
run liza analyze

say "An agent's hook reports what happened to it, a third time that error on a third task."
cp .liza/state.yaml before.yaml
run liza log anomaly --type retry_loop --task task-6 --reporter coder-3 count=3 \
  "error_pattern=serialization failure on nested entity at line 8"

say "That is all that changed in the file: every comment and every other byte is as it was."
show diff before.yaml .liza/state.yaml
diff before.yaml .liza/state.yaml || true

say "The next check sees the pattern, and stops the agents."
run liza analyze

say "Every agent's hook asks before it acts. It may not go on now."
run liza gate

say "One page tells a human why."
show cat .liza/circuit_breaker_report.md
cat .liza/circuit_breaker_report.md

say "The human decides, and the decision is kept."
run liza resolve -m "ADR-003: nested entities are flattened on import" --by alice
run liza gate && echo "(exit code 0: the agents go on)"

say "The same evidence does not trip again. New evidence would."
run liza analyze
run liza status
