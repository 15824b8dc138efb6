"""`liza loop record` beside an equal breaker in shell with jq: read, count, write.

The shell script is kept as good as it can be: one jq to read and one to write, under flock, with a rename at the end.
It keeps one JSON file for one loop, and evaluates four of the signals.
"""

import json
import os
import shutil
import sys
from contextlib import chdir

from benchmarks.command import Failed, _process
from benchmarks.tables import Row, Table, Target
from benchmarks.timing import Contestant, Measured, race

_ROUNDS = 150  # the best of fewer still differs by a tenth from run to run
_RECORDED = (0, 15, 98)  # iterations before the one that is timed; more never stay on the blackboard
_WORDS = ("--task", "task-3", "--progress", "40", "--files-changed", "2", "--error", "TypeError: x is not a function")

_SHELL = r"""#!/usr/bin/env bash
set -eu
state=$1 task=$2 progress=$3 files=$4 error=$5
exec 9>>"$state.lock"; flock -x 9
read -r status count before flat none same last < <(jq -r \
  '[.status, .loop_count, .progress, .consecutive_no_progress_loops, .no_changes, .same_error, (.last_error | @base64)]
   | @tsv' "$state")
signature=$(printf '%s\n' "$error" | grep -E '(Error|Exception|Failed|FAIL):' | head -1 \
  | sed -e 's/at line [0-9]*/at line N/' -e 's/:[0-9]*:/:N:/')
count=$((count + 1))
if [ $((progress - before)) -lt 3 ]; then flat=$((flat + 1)); else flat=0; fi
if [ "$files" -eq 0 ]; then none=$((none + 1)); else none=0; fi
if [ -n "$signature" ] && [ "$(printf '%s' "$signature" | base64 -w0)" = "$last" ]
then same=$((same + 1)); else same=1; fi
reason=""
if [ "$none" -ge 3 ]; then reason="No progress for $none iterations"
elif [ "$same" -ge 3 ]; then reason="Same error for $same iterations"
elif [ "$flat" -ge 10 ]; then reason="Stagnation: $flat loops without progress"
elif [ "$count" -ge 100 ]; then reason="Absolute max: $count loops"; fi
if [ -n "$reason" ]; then status=OPEN; fi
jq --arg status "$status" --arg reason "$reason" --arg task "$task" --arg error "$signature" --argjson count "$count" \
  --argjson progress "$progress" --argjson files "$files" --argjson flat "$flat" --argjson none "$none" \
  --argjson same "$same" --arg now "$(date -u +%FT%TZ)" \
  '.status = $status | .trigger_reason = $reason | .loop_count = $count | .progress = $progress | .last_error = $error
   | .consecutive_no_progress_loops = $flat | .no_changes = $none | .same_error = $same
   | .error_history += [{iteration: $count, signature: $error}]
   | .iterations = (.iterations + [{iteration: $count, timestamp: $now, task: $task, progress: $progress,
                                    files_changed: $files}])[-100:]' \
  "$state" > "$state.new"
mv "$state.new" "$state"
echo "$status $reason"
"""


def run(folder: str, quick: bool) -> list[Table]:
    """`quick` changes nothing here."""
    liza = os.path.join(os.path.dirname(sys.executable), "liza")
    for tool in ("bash", "jq", "flock"):
        if shutil.which(tool) is None:
            raise Failed(f"there is no {tool} to compare with")
    script = os.path.join(os.path.dirname(folder), "breaker.sh")
    with open(script, "w") as file:
        file.write(_SHELL)
    with open(os.path.join(folder, "rules.yaml"), "w") as file:
        file.write("circuit_breaker: {absolute_max_loops: 100}\n")
    tables = []
    first: float | None = None
    with chdir(os.path.dirname(folder)):
        for before in _RECORDED:
            rows, mine = _compared(folder, liza, script, before)
            if first is not None:
                rows.append(Row(mine, mine.seconds / first, Target(1.5)))
            first = first or mine.seconds
            title = f"one iteration recorded after {before} others"
            tables.append(Table(title, "liza / the shell; last: / as the first", rows))
    return tables


def _compared(folder: str, liza: str, script: str, before: int) -> tuple[list[Row], Measured]:
    shell_state, state = (os.path.join(folder, name) for name in ("circuit.json", "state.yaml"))
    bash = shutil.which("bash") or "bash"
    command = (bash, script, shell_state, "task-3", "40", "2", "TypeError: x is not a function")
    shell = Contestant(
        "bash, flock and jq", lambda: _process(command), before=lambda: _shell_state(shell_state, before)
    )
    ours = Contestant(
        "liza loop record ...",
        lambda: _process((liza, "loop", "record", "coder-1", *_WORDS)),
        before=lambda: _state(state, before),
    )
    nothing = Contestant("python -c pass", lambda: _process((sys.executable, "-c", "pass")))
    bare, theirs, mine = race([nothing, shell, ours], _ROUNDS)
    return [Row(bare), Row(theirs), Row(mine, mine.seconds / theirs.seconds, Target(1))], mine


def _kept(before: int) -> list[dict[str, object]]:
    """The newest iterations, each with progress, as either of them has left them."""
    return [
        {
            "iteration": n,
            "timestamp": "2025-01-18T12:00:00Z",
            "task": f"t-{n}",
            "progress": n * 5 % 95,
            "files_changed": 1,
        }
        for n in range(max(before - 99, 1), before + 1)
    ]


def _shell_state(path: str, before: int) -> None:
    counters = {"progress": 0, "consecutive_no_progress_loops": 0, "no_changes": 0, "same_error": 0, "last_error": ""}
    facts = {"status": "CLOSED", "loop_count": 0, **counters, "error_history": [], "iterations": _kept(before)}
    with open(path, "w") as file:
        json.dump(facts, file, indent=2)


def _state(path: str, before: int) -> None:
    lines = ["loops:", "  coder-1:", "    status: CLOSED", f"    loop_count: {before}", "    error_history: []"]
    lines += ["    iterations:"] if before else ["    iterations: []"]
    for each in _kept(before):
        lines += [f"      {'- ' if name == 'iteration' else '  '}{name}: {value}" for name, value in each.items()]
    with open(path, "w") as file:
        file.write("version: 1\n" + "\n".join(lines) + "\n")
    os.utime(path, (1_000_000_000, 1_000_000_000))
