"""Recording without click parses a command line as click does, or leaves it to click."""

from typing import Any

import click
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from liza.cli import analyze_options, log, loop, without_click

NAMES = ["--type", "--task", "--reporter", "--timestamp", "--root", "--agent", "--action", "--detail"]
VALUES = ["x", "two words", "", " ", "-", "--", "-x", "--json", "--type", "a=b", "=", "@f", "ä\n", "--task=1", "log"]
MISTAKES = [
    "--", "-", "-h", "--help", "-x", "--bogus", "--bogus=1", "--typ", "--ty=x", "--json=1", "--debug=", "--json ",
    "-t=x", "", " ", "word", "anomaly", "entry", "--=x", "=", "==", "--root", "--no-json", "-k=v", "--version", "\n",
]  # fmt: skip
DETAILS = ["k=v", "k=", "=v", "k=@f", "k=-", "k=a=b", " =", "k v=w", "é=1", "k=--x", "k==", "\n=x"]
COMMANDS = {
    "anomaly": log.command.commands["anomaly"],
    "entry": log.command.commands["entry"],
    "record": loop.command.commands["record"],
    "analyze": analyze_options.command,
}
CALLED: dict[str, tuple[str, ...]] = {
    "anomaly": ("log", "anomaly"),
    "entry": ("log", "entry"),
    "record": ("loop", "record"),
    "analyze": ("analyze",),
}
FORMS = {name: without_click.FORMS[words] for name, words in CALLED.items()}
OPTIONS = {name: [*form.options, *form.several] for name, form in FORMS.items()}
WORDS = {
    "anomaly": DETAILS,
    "entry": [],
    "record": ["coder-1", "a loop", "x=y", *FORMS["record"].flags],
    "analyze": ["folder", "-q", *FORMS["analyze"].flags],
}


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A command and its arguments: mostly valid, now and then a mistake."""
    name = draw(st.sampled_from(list(OPTIONS)))
    option = st.sampled_from(OPTIONS[name])
    value = st.sampled_from(["x", "two words", "", "-", "a=b", "@f", "ä\n"])
    plain = st.one_of(
        st.tuples(option, value),
        st.builds("{}={}".format, option, value).map(lambda word: (word,)),
        st.sampled_from(["--json", "--debug", *WORDS[name]]).map(lambda word: (word,)),
    )
    odd = st.one_of(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)),
        st.sampled_from([*NAMES, *VALUES, *MISTAKES, *DETAILS]).map(lambda word: (word,)),
    )
    parts: list[tuple[str, ...]] = [*draw(st.lists(plain, max_size=5)), *draw(st.lists(odd, max_size=1))]
    return name, [word for part in draw(st.permutations(parts)) for word in part]


def by_click(name: str, words: list[str]) -> dict[str, Any] | None:
    """The parameters that click finds; None if it would not run the command."""
    chosen = COMMANDS[name]
    try:
        with chosen.make_context(name, list(words)) as context:
            root = context.find_root().ensure_object(dict).get("root")
            params = {"rules" if each == "rules_file" else each: value for each, value in context.params.items()}
            return {**params, "root": root}
    except (click.ClickException, click.exceptions.Exit):
        return None


def by_without_click(parsed: without_click.Parsed) -> dict[str, Any]:
    form = FORMS[parsed.command]
    plain = {option: option[2:].replace("-", "_") for option in (*form.options, *form.several, *form.flags)}
    found: dict[str, Any] = {plain[option]: parsed.options.get(plain[option]) for option in form.options}
    found |= {plain[option]: tuple(parsed.options.get(plain[option], ())) for option in form.several}
    found |= {plain[flag]: flag in parsed.flags for flag in form.flags}
    found["as_json"] = "--json" in parsed.flags
    if form.pairs:
        found["words"] = tuple(parsed.words)
    if form.name:
        (found["name"],) = parsed.words
    if form.directory:
        found["directory"] = next(iter(parsed.words), None)
    assert set(parsed.options) <= set(found)
    return found


@example(("anomaly", ["--type", "x", "--type", "y", "k=v", "--json", "--json"]))
@example(("anomaly", ["--task", "-", "--reporter=", "--root", ""]))
@example(("anomaly", ["--type"]))
@example(("analyze", ["-q", "--quiet", "", "--window", ""]))
@example(("entry", ["--detail", "-", "--debug", "k=v"]))
@given(lines())
def test_parser_without_click_agrees_with_click(line: tuple[str, list[str]]) -> None:
    name, words = line
    parsed = without_click.parse([*CALLED[name], *words])
    if parsed is None:
        event("left to click")
        return
    event("understood")
    assert parsed.command == name
    assert by_without_click(parsed) == by_click(name, words)


PLAIN: dict[str, list[str]] = {
    "an anomaly": ["anomaly", "--type", "x", "--task", "t", "--reporter", "r", "k=v", "n=3"],
    "an anomaly with everything": ["anomaly", "k=v", "--type=x", "--task", "t", "--reporter=r", "--timestamp", "now",
                                   "--root", "d", "--json", "--debug", "long=a b c", "f=@file", "s=-"],
    "an entry": ["entry", "--agent", "a", "--action", "x", "--task", "t", "--detail", "some words"],
    "piped in": ["anomaly", "--json"],
    "an iteration": ["record", "coder-1", "--task", "t", "--progress", "40", "--files-changed=2", "--error", "boom"],
    "an iteration with everything": ["record", "--claims-done", "--test-only", "--evidence", "tests=pass",
                                     "--evidence=build=fail", "loop", "--outcome", "ok", "--workdir", "a",
                                     "--workdir", "b", "--json"],
    "a check": ["analyze"],
    "a check with everything": ["analyze", "-q", "--dry-run", "--exact", "--window=24h", "--rules", "r.yaml", "folder",
                                "--now", "2025-01-18T12:00:00Z", "--root", "d", "--json", "--debug"],
}  # fmt: skip


@pytest.mark.parametrize("line", PLAIN.values(), ids=PLAIN.keys())
def test_plain_forms_need_no_click(line: list[str]) -> None:
    parsed = without_click.parse([*CALLED[line[0]], *line[1:]])
    assert parsed is not None
    assert by_without_click(parsed) == by_click(line[0], line[1:])


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["log"],
        ["log", "--help"],
        ["log", "anomaly", "--help"],
        ["log", "--root", "x", "anomaly"],
        ["log", "bogus"],
        ["log", "entry", "x"],
        ["loop", "record"],
        ["loop", "record", "a", "b"],
        ["loop", "reset", "a"],
        ["analyze", "--help"],
        ["analyze", "a", "b"],
        ["analyze", "-qx"],
    ],
)
def test_help_and_mistakes_are_left_to_click(line: list[str]) -> None:
    assert without_click.parse(line) is None
