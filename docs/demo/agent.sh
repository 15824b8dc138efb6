#!/bin/sh
# An agent of the demo: a shell loop that asks the gate before each step, works, and reports errors.
set -u
name=$1 task=$2 orders=$3
say() { printf '%s%-8s%s %s\n' "$color" "$name" "$plain" "$1"; }

failed=0
while [ ! -e finish ]; do
  if ! liza-gate 2> "gate-$name"; then
    say "stopped at the gate: $(sed -n '1s/.*(\(.*\))/\1/p' "gate-$name")"
    : > "stopped-$name"
    until liza-gate 2> "gate-$name"; do sleep 0.1; done
    rm "stopped-$name"
    say "continues"
  fi
  if error=$(python3 importer.py "$orders" $(cat options 2> none) 2>&1 > "rows-$name"); then
    [ -e "imported-$name" ] || say "imported $(wc -l < "rows-$name") rows for $task"
    : > "imported-$name"
  elif failed=$((failed + 1)) && [ "$failed" -eq 3 ]; then
    say "$error, for the third time; reports it"
    liza log anomaly --type retry_loop --task "$task" --reporter "$name" count=3 error_pattern="$error" > "report-$name"
  fi
  sleep 0.2
done
