"""`--help`: reviewed in the files of tests/cli/help, and consistent across commands."""

import gc
import re
from collections import defaultdict
from collections.abc import Iterator

import click
import pytest

from liza.cli import main
from liza.cli.commands import COMMANDS
from tests.cli import help as helps
from tests.cli.help import Words, commands, pages, text

ALL = dict(commands())
# Options whose help is the same everywhere; of --json and --by only the beginning and the end.
SAME = {
    "--root": r"Folder that contains \.liza/; default: \$LIZA_ROOT, else the nearest parent\.",
    "--debug": r"Show the traceback of an error\.",
    "--now": r"Evaluate as of this time\.",
    "--json": r"Print JSON\b.*\.",
    "--by": r"Who [a-z ]+(; default(, except for --override)?: the user of this machine)?\.",
    "--exact": r"Compare texts for equality only\.",
    "--window": r"Which anomalies count: current_sprint, all, 24h, last 50\.",
}


def test_help_pages_match_their_snapshots() -> None:
    kept = {file.name: file.read_text(encoding="utf-8") for file in helps.FOLDER.iterdir()}
    assert kept == pages(), "if intended, renew with: make snapshots"


def faults(words: Words, page: str) -> Iterator[str]:
    """What is wrong with the help of one command."""
    summary = page.split("\n\n")[1].strip()
    if not re.match(r"[A-Z][^\n]+[.?]", summary):
        yield "no sentence that fits on the first line"
    examples = page.partition("\n  Examples:\n")[2].partition("\n\n")[0].splitlines()
    if words and not any(" ".join(("liza", *words)) in line for line in examples):
        yield "no example"
    if "..." in page.partition("\nCommands:\n")[2]:
        yield "a command of the list does not have its whole sentence there"


def test_every_help_has_summary_and_example() -> None:
    found = [(words, fault) for words in ALL for fault in faults(words, text(words))]
    assert found == []
    assert len(ALL) > 50


def test_option_has_same_help_in_every_command() -> None:
    wrong = []
    for words, command in ALL.items():
        for param in command.params:
            if isinstance(param, click.Option):
                name = next((each for each in param.opts if each.startswith("--")), param.opts[0])
                is_short = name != "--message" or param.opts[0] == "-m"
                if not (is_short and re.fullmatch(SAME.get(name, ".+"), param.help or "")):
                    wrong.append((words, name))
    assert wrong == []


def test_every_command_has_root_and_debug() -> None:
    options = {words: {opt for param in command.params for opt in param.opts} for words, command in ALL.items()}
    assert [words for words in ALL if words and not {"--root", "--debug"} <= options[words]] == []


def test_option_is_consistently_flag_or_value() -> None:
    kinds = defaultdict(set)
    for command in ALL.values():
        for param in command.params:
            if isinstance(param, click.Option):
                kinds[param.opts[-1]].add(param.is_flag)
    assert [name for name, found in kinds.items() if len(found) > 1] == ["--project"]  # of a loop it is a type


def test_command_table_agrees_with_help() -> None:
    for command in COMMANDS:
        own = ALL[(command.name,)].get_short_help_str(limit=200)
        assert own.split()[0] == command.help.split()[0], command.name


# --- mistakes -------------------------------------------------------------------------------------------------------


def mistaken(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    """The message and the hint for a wrong command line."""
    try:
        assert main.run(list(words)) == 2
    finally:
        gc.enable()  # `run` turns it off for its short life
    message, hint = capsys.readouterr().err.splitlines()
    return message, hint


def test_misspelt_option_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    named = "liza: unknown option '--debgu'; did you mean --debug?"
    found = {words: mistaken(capsys, *words, "--debgu") for words in ALL if words}
    assert found == {words: (named, f"  hint: see: liza {' '.join(words)} --help") for words in found}


def test_misspelt_subcommand_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [words for words in ALL if len(words) == 2]
    found = {words: mistaken(capsys, words[0], words[1] + "e") for words in pairs}
    assert {words: hint for words, (_, hint) in found.items()} == {
        words: f"  hint: see: liza {words[0]} --help" for words in pairs
    }
    assert [words for words in pairs if not found[words][0].endswith(f"did you mean {words[1]}?")] == []
    assert len(pairs) > 20


def test_option_without_value_points_to_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("analyze", "--window"), ("claim", "resolve", "C-1", "-m"), ("trip", "-m"), ("--root",)):
        called = " ".join(("liza", *(word for word in words if not word.startswith(("-", "C-")))))
        assert mistaken(capsys, *words)[1] == f"  hint: see: {called} --help"


@pytest.mark.parametrize(
    ("words", "missing", "example"),
    [
        (("claim", "show"), "ID", "liza claim show C-001"),
        (("resolve",), "-m", 'liza resolve -m "ADR-003: entities are flattened on import" --by alice'),
        (("completion",), "SHELL", 'eval "$(liza completion bash)"'),
    ],
)
def test_missing_argument_gets_an_example(
    capsys: pytest.CaptureFixture[str], words: Words, missing: str, example: str
) -> None:
    assert mistaken(capsys, *words) == (f"liza: missing {missing}", f"  hint: for example: {example}")


def test_two_line_example_is_printed_on_one(capsys: pytest.CaptureFixture[str]) -> None:
    hint = mistaken(capsys, "claim", "round")[1]
    assert hint.startswith("  hint: for example: liza claim round C-001 --cycle 4 --objection ")
    assert hint.endswith(" --evidence data/README.md")
    assert "\\" not in hint
