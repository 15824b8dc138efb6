"""Signs of progress and completion in the output of an iteration.

**Progress** is a line `Progress: N%`; the last one counts.

**A claim** that the work is done is a whole line, not a sentence that contains the word: `DONE`,
`COMPLETE`, `COMPLETED` or `FINISHED` in capitals; `task complete`, `all tasks complete`, `all tasks are done` in any
case; these between the tags `<promise>` and `</promise>`; `STATUS: COMPLETE`; `EXIT_SIGNAL: true`, while a later
`EXIT_SIGNAL: false` takes every claim back. Emphasis, a full stop and a tick around the words do not matter.

Three numbers are kept with each iteration. They only describe:
- **completion**, 0 to 100: the progress if it is known; else 100 for a claim with passing evidence and 50 for one
  without; else unknown;
- **confidence**, 0 to 1: 1 with evidence, 0.8 for the plan's ratio, 0.5 for progress that the agent reports, 0.2 for a
  bare claim, 0 if nothing is known; half of it if the command failed;
- **errors**: how many errors the output has.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

_PROGRESS = re.compile(r"progress[*_ ]*[:=][*_ ]*(\d{1,3}(?:\.\d+)?) ?%(?!\w)", re.IGNORECASE)
_EXIT = re.compile(r"EXIT_SIGNAL[*_ ]*[:=][*_ ]*(true|false)", re.IGNORECASE)
_STATUS = re.compile(r"STATUS[*_ ]*[:=][*_ ]*(?:COMPLETED?|DONE)", re.IGNORECASE)
_WORD = re.compile(r"DONE|COMPLETED?|FINISHED")
_PHRASE = re.compile(r"(?:the )?task (?:is )?(?:completed?|done)|all tasks (?:are )?(?:completed?|done)", re.IGNORECASE)
_PROMISE = re.compile(r"<promise>\s*(.*?)\s*</promise>", re.IGNORECASE)
_AROUND = " \t*_`#.!✅☑✔️🎉"
_BEFORE = _AROUND + ">"
_LONGEST = 200  # characters of a line that can be one of these

_TEST_FOLDERS = {"test", "tests", "__tests__", "testing", "e2e"}
_TEST_NAME = re.compile(r"(?:test_.*|.*_test|.*_spec|.*\.test|.*\.spec|.*Tests?|conftest|.*\.snap)\.\w+|.*\.snap")
_RUNS_TESTS = re.compile(
    r"(?:python\d?(?:\.\d+)? -m )?(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest)\b"
    r"|(?:npm|yarn|pnpm|bun|deno)(?: run)? (?:test|t)\b|(?:npx|bunx|uv run|poetry run) (?:pytest|jest|vitest|mocha)\b"
    r"|(?:go|cargo|dotnet|mvn|gradle|\./gradlew|make|swift|mix|sbt) (?:-\S+ )*(?:test|nextest|check)\b"
)
_LOOKS_ONLY = re.compile(
    r"(?:cd|ls|cat|head|tail|grep|rg|echo|pwd|find|export|set|source|sleep|time|true|sed -n)\b|#|$"
)


def progress_in(lines: Iterable[str]) -> float | None:
    """The progress in percent of the last such line; None without one between 0 and 100."""
    found: float | None = None
    for line in lines:
        if len(line) <= _LONGEST and "%" in line and (match := _PROGRESS.match(line.lstrip(_BEFORE + "-"))):
            percent = float(match[1])
            found = percent if percent <= 100 else found
    return found


def progress_of_file(text: str) -> float | None:
    """The progress in a progress file: `45`, `45%`, or a line `Progress: 45%`."""
    number = re.fullmatch(r"\s*(\d{1,3}(?:\.\d+)?)\s*%?\s*", text)
    if number is None:
        return progress_in(text.splitlines())
    return float(number[1]) if float(number[1]) <= 100 else None


def claims_done(lines: Iterable[str]) -> bool:
    claimed = False
    for line in lines:
        if len(line) > _LONGEST:
            continue
        bare = line.lstrip(_BEFORE).rstrip(_AROUND)
        if exit_signal := _EXIT.fullmatch(bare):
            claimed = exit_signal[1].lower() == "true"
        elif _is_claim(bare):
            claimed = True
    return claimed


def _is_claim(line: str) -> bool:
    promise = _PROMISE.fullmatch(line)
    words = promise[1] if promise else line
    return any(form.fullmatch(words) for form in (_WORD, _PHRASE, _STATUS))


def is_test_only(paths: Iterable[str] | None, commands: Sequence[str]) -> bool | None:
    """Whether an iteration only wrote tests, or changed nothing and only ran them; None if unknown."""
    if paths is None:
        return None
    changed = list(paths)
    if changed:
        return all(is_test_file(path) for path in changed)
    steps = [step for command in commands for step in _steps(command)]
    tests = [step for step in steps if _RUNS_TESTS.match(step)]
    return bool(tests) and all(_RUNS_TESTS.match(step) or _LOOKS_ONLY.match(step) for step in steps)


def is_test_file(path: str) -> bool:
    *folders, name = path.split("/")
    return not _TEST_FOLDERS.isdisjoint(folders) or _TEST_NAME.fullmatch(name) is not None


def _steps(command: str) -> list[str]:
    """The programs that a shell command calls one after the other, without the variables before them."""
    return [re.sub(r"^(?:\w+=\S* )+", "", step.strip()) for step in re.split(r"&&|\|\|?|;|\n", command)]


class Score(NamedTuple):
    """The numbers that describe an iteration."""

    completion: float | None
    confidence: float


def score(progress: float | None, from_plan: bool, claimed: bool, evidence: Mapping[str, bool], outcome: str) -> Score:
    """The completion of the work, and the confidence in it."""
    if progress is not None:
        completion, confidence = progress, 0.8 if from_plan else 0.5
    elif claimed:
        completion, confidence = (100.0 if evidence and all(evidence.values()) else 50.0), 0.2
    else:
        completion, confidence = None, 0.0
    if evidence and completion is not None:
        confidence = 1.0
    return Score(completion, confidence if outcome == "ok" else confidence / 2)
