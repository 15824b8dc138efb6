"""Text of agents and of the command line never acts on a terminal."""

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import liza, new_board, on_a_terminal

ENTRY = ["log", "entry", "--agent", "a", "--action", "x"]
ANOMALY = ["log", "anomaly", "--type", "workaround", "--task", "t", "--reporter", "r"]
NASTY = "\x1b]0;owned\x07\x1b[45mred\u202egnp.exe\u200b\x9b1m"
OUR_COLOURS = re.compile(r"\x1b\[(?:0|1|31|32|33)m")


def harmless(text: str) -> bool:
    """Whether a terminal only prints it, in liza's own colours."""
    odd = ("Cc", "Cf", "Zl", "Zp", "Cs", "Co")
    return not [char for char in OUR_COLOURS.sub("", text) if char != "\n" and unicodedata.category(char) in odd]


def test_untrusted_text_is_escaped(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    record_property("effect", "shown without control characters")
    text = NASTY.replace("\x1b", "\\e").replace("\x07", "\\a").replace("\x9b", "\\x9b")
    new_board(
        tmp_path,
        f'"{text}": 1\nanomolies: 1\ntasks:\n- id: "{text}"\n  status: "{text}"\n- "{text}"\nagents:\n  "{text}": 1\n'
        f'anomalies:\n- type: "{text}"\n  timestamp: "{text}"\n- type: retry_loop\n  details: {{count: "{text}"}}\n',
    )
    result = on_a_terminal(tmp_path, "validate")
    assert result.code == 1
    assert harmless(result.out), ascii(result.out)
    assert harmless(liza(tmp_path, "validate").out)
    assert liza(tmp_path, "validate", "--json").out.isascii()


NASTY_WORDS = [
    [*ANOMALY, f"what={NASTY}"], [*ANOMALY, f"{NASTY}=x", "what=y"], [*ANOMALY[:3], NASTY, *ANOMALY[4:]],
    [*ENTRY, "--detail", NASTY], [*ANOMALY, NASTY], [*ANOMALY, f"what=@{NASTY}"], [NASTY], ["log", NASTY],
    [f"--{NASTY}"], ["validate", NASTY], ["validate", "a", NASTY], ["--root", NASTY, "validate"], ["init", NASTY],
    [*ENTRY, NASTY], [*ENTRY, f"--{NASTY}=x"], ["init", "--root", NASTY], [*ENTRY, "--debug", "--root", NASTY],
]  # fmt: skip


@pytest.mark.parametrize("words", NASTY_WORDS, ids=lambda words: ascii(" ".join(words))[:60])
def test_command_line_words_are_escaped(tmp_path: Path, words: list[str]) -> None:
    new_board(tmp_path)
    result = on_a_terminal(tmp_path, *words)
    assert harmless(result.out), ascii(result.out)


def test_file_names_are_escaped(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    record_property("effect", "shown without control characters")
    (tmp_path / f"{NASTY}.yaml").write_text("tasks: x\n")
    assert harmless(on_a_terminal(tmp_path, "validate", f"{NASTY}.yaml").out)
    new_board(tmp_path / NASTY)
    assert harmless(on_a_terminal(tmp_path, "--root", NASTY, *ENTRY).out)


def test_megabyte_of_text_is_shortened(tmp_path: Path) -> None:
    new_board(tmp_path)
    flood = "x" * (1 << 20)
    result = liza(tmp_path, *ANOMALY, "what=-", stdin=flood)
    assert result.code == 0
    assert len(result.out) < 2000
    new_board(tmp_path / "other", f"tasks: {flood}\n{flood[:1000]}: 1\nanomalies:\n- type: {flood}\n")
    result = liza(tmp_path / "other", "validate")
    assert result.code == 1
    assert len(result.out) < 5000
    new_board(tmp_path / "bad", f"a: '{flood}\n")
    result = liza(tmp_path / "bad", "validate")
    assert result.code == 4
    assert len(result.err) < 1000


def test_long_word_is_shortened(tmp_path: Path) -> None:
    new_board(tmp_path)
    flood = "x" * 100_000
    for words in (
        [*ANOMALY, flood],
        [flood],
        ["--root", flood, "validate"],
        [*ANOMALY, f"what=@{flood}"],
        [f"--{flood}"],
    ):
        assert len(liza(tmp_path, *words).err) < 2000


def test_colour_is_only_for_terminals(tmp_path: Path) -> None:
    new_board(tmp_path, "tasks: x\n")
    assert "\x1b[" in on_a_terminal(tmp_path, "validate").out
    assert "\x1b" not in liza(tmp_path, "validate").out
    assert "\x1b" not in on_a_terminal(tmp_path, "validate", NO_COLOR="1").out
