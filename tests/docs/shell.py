"""Commands with --json, each answer checked against docs/json.md."""

import json
from pathlib import Path
from typing import Any

from tests.cli.run import liza
from tests.docs import contract
from tests.docs.contract import ERRORS, SECTIONS, Error, Reader, command_of, reachable, spread
from tests.run.repositories import SETTINGS

# Not quickly reproducible: a daemon that hangs, a run that a person ends.
NOT_TRIED = {("watch --status", "stuck"), ("watch --status", "degraded"), ("run: the last line", "interrupted")}


class Shell:
    """Runs commands, checks each answer against the contract, and collects what was shown."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reader = Reader()
        self.seen: dict[str, set[str]] = {}
        self.errors: list[Error] = []
        self.env: dict[str, str] = dict(SETTINGS)
        self.run = liza  # or `installed`, for commands that need a new process

    def ask(self, key: str, *words: str, stdin: str = "", code: int | None = None) -> dict[str, Any]:
        """The answer of the command that `key` names; without words the key is all of it."""
        *first, last = self.lines(key, *words, stdin=stdin, code=code)
        assert not first, "one object, on one line"
        return last

    def lines(self, key: str, *words: str, stdin: str = "", code: int | None = None) -> list[dict[str, Any]]:
        called = command_of(key).split() + [word for word in key.split() if word.startswith("--")]
        separator = words.index("--") if "--" in words else len(words)
        arguments = [*called, *words[:separator], "--json", *words[separator:]]
        done = self.run(self.folder, *arguments, stdin=stdin, **self.env)
        assert code is None or done.code == code, (arguments, done)
        answers = [json.loads(line) for line in done.out.splitlines()]
        assert answers, (arguments, done)
        for answer in answers:
            self._check_answer(
                key if ":" not in key else _of_run(answer), answer, done.code, f"liza {' '.join(arguments)}"
            )
        assert self.reader.faults == []
        return answers

    def _check_answer(self, key: str, answer: dict[str, Any], code: int, where: str) -> None:
        envelope = {name: answer.get(name) for name in contract.ENVELOPE}
        self.reader.fields(where, envelope, contract.ENVELOPE_FIELDS)
        assert (answer["schema"], answer["command"]) == (1, command_of(key)), where
        rest = {name: value for name, value in answer.items() if name not in contract.ENVELOPE}
        status, section = answer["status"], SECTIONS[key]
        error = Error(status, code, frozenset(rest))
        if error in ERRORS and rest.keys() != dict(spread(section.fields)).keys():
            assert answer["problems"], where
            self.errors.append(error)
            return
        if section.statuses:
            assert status in section.statuses, (where, answer)
            assert code in section.statuses[status] or (where.endswith("--once --json")), (where, code, status)
        self.seen.setdefault(key, set()).add(status)
        self.reader.fields(where, rest, section.fields)

    def assert_all_shown(self, *keys: str) -> None:
        """Every command, status and object that the page documents for these keys has been seen."""
        assert set(keys) | {"init"} == self.seen.keys() | {"init"}
        seen_by_section: dict[int, set[str]] = {}
        for key in keys:
            seen_by_section.setdefault(id(SECTIONS[key]), set()).update(self.seen[key])
        for key in keys:
            not_tried = {status for other, status in NOT_TRIED if other == key}
            assert seen_by_section[id(SECTIONS[key])] | not_tried >= set(SECTIONS[key].statuses), key
        wanted = set().union(*(reachable(SECTIONS[key].fields) for key in keys))
        missing = wanted - self.reader.seen - {"problem"}
        assert not missing, sorted(missing)


def _of_run(answer: dict[str, Any]) -> str:
    name = f"run: {answer['status']}"
    return name if name in SECTIONS and "totals" not in answer else "run: the last line"
