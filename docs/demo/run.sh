#!/bin/sh
# Three agents and a human on a copy of the example blackboard. Everything is real; nothing is simulated.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
agents=''
leave() {
  : > "$place/finish"
  liza watch --stop > "$place/stopped" 2>&1 || true
  for agent in $agents; do wait "$agent" 2> /dev/null || true; done
  cd / && rm -rf "$place"
}
trap leave EXIT
trap 'exit 130' INT TERM
cp -R "$here/../../.liza.example" "$place/.liza"
cp "$here/importer.py" "$place"
cd "$place"

# The demo makes a person's decisions, which liza refuses inside an agent.
unset LIZA_ROOT LIZA_LOOP CLAUDECODE CODEX_THREAD_ID GEMINI_CLI QWEN_CODE OPENCODE
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$(printf '\033[1m') blue=$(printf '\033[36m') color=$(printf '\033[33m') plain=$(printf '\033[0m')
else
  bold='' blue='' color='' plain=''
fi
export color plain
say() { printf '\n%s# %s%s\n' "$bold" "$1" "$plain"; }
run() { printf '%s$ %s%s\n' "$blue" "$1" "$plain"; sh -c "$1" 2>&1 || printf '(exit code %d)\n' "$?"; }
until_true() {
  tries=0
  until eval "$1"; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || { echo "the demo timed out after 30 s, waiting for: $1"; exit 1; }
    sleep 0.1
  done
}

say "Three coding agents share a blackboard. Two of them have reported the same error. Is it systemic yet?"
run "liza analyze"
cp .liza/state.yaml before.yaml

say "Start the daemon and the agents. Each agent asks liza-gate before every step."
run "liza watch --background"
printf '{"id": %d, "customer": "c-%d"}\n' 1 7 2 9 > flat.jsonl
printf '{"id": 3}\n{"id": 4, "customer": {"name": "n", "city": "x"}}\n' > nested.jsonl
for agent in "coder-1 task-3 flat.jsonl" "coder-2 task-5 flat.jsonl" "coder-3 task-6 nested.jsonl"; do
  sh "$here/agent.sh" $agent &
  agents="$agents $!"
done
until_true '[ -e stopped-coder-1 ] && [ -e stopped-coder-2 ] && [ -e stopped-coder-3 ]'

say "The third report: the breaker has tripped, and all agents are halted. One page explains why."
run "cat .liza/circuit_breaker_report.md"

say "Only that record and liza's own section were written. Every other byte is unchanged."
run "diff before.yaml .liza/state.yaml | sed -n '1,14p'"

say "The human decides that the importer flattens entities. The decision is recorded, and the agents continue."
rm -f imported-*
echo --flatten > options
run "liza resolve -m 'ADR-003: nested entities are flattened on import' --by alice"
until_true '[ -e imported-coder-1 ] && [ -e imported-coder-2 ] && [ -e imported-coder-3 ]'
: > finish
for agent in $agents; do wait "$agent"; done
agents=''

say "The same evidence does not trip the breaker again. New evidence would."
[ -t 0 ] || [ -t 1 ] || say "This demo runs without a terminal, so the decision is alarmed: perhaps no person made it."
run "liza status"
run "liza watch --stop"
say "In your own project, liza serve shows all of this on a live page, where you can also decide."
