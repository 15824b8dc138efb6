"""Own templates: used if they work, run in a sandbox, and never a reason for a missing halt or report."""

from pathlib import Path

import pytest

from tests.cli.run import Result
from tests.scopes.sprint.cases import RETRY, board_with
from tests.scopes.sprint.markdown import well_formed
from tests.scopes.sprint.run import Board


def with_template(folder: Path, template: bytes) -> tuple[Board, Result]:
    board = board_with(folder, *RETRY.records)
    own = folder / "templates"
    own.mkdir()
    (own / "report.md").write_bytes(template)
    return board, board.analyze(env={"LIZA_TEMPLATES": str(own)})


def test_own_template_is_used(tmp_path: Path) -> None:
    board, ran = with_template(
        tmp_path, b"# {{ trigger.pattern }}\n{% for row in evidence %}{{ row.task | cell }};{% endfor %}\n"
    )
    assert ran.code == 3
    assert board.report.read_text() == "# retry_cluster\ntask-3;task-2;task-1;\n"
    assert board.archived[0].read_text() == board.report.read_text()
    assert board.resolve().code == 0
    # It does not name its trip, so no decision is added to it.
    assert board.archived[0].read_text() == "# retry_cluster\ntask-3;task-2;task-1;\n"


HARMFUL = {
    "attributes of a text": b"{{ ''.__class__.__mro__ }}",
    "attributes through a filter": b"{{ '' | attr('__class__') }}{{ ('' | attr('__class__')).__mro__ }}",
    "attributes through format": b"{{ '{0.__class__.__mro__}'.format('') }}",
    "attributes through a map": b"{{ [''] | map(attribute='__class__.__mro__') | list }}{{ x.y }}",
    "globals of a function": b"{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "globals of a filter": b"{{ self._TemplateReference__context.environment.filters.cell.__globals__ }}",
    "an include": b"{% include '/etc/passwd' %}",
    "an import": b"{% import 'os' as os %}",
    "broken syntax": b"{% for x in %}",
    "an unknown name": b"{{ nothing.of.the.kind }}",
    "an unknown filter": b"{{ 1 | nothing }}",
    "a division by zero": b"{{ 1 / 0 }}",
    "a huge range": b"{% for x in range(10**12) %}x{% endfor %}",
    "endless recursion": b"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "not UTF-8": b"\xff\xfe",
    "a change of its arguments": b"{{ evidence.clear() }}{{ trigger.update(x=1) }}",
}


@pytest.mark.parametrize("template", HARMFUL.values(), ids=HARMFUL.keys())
def test_harmful_template_affects_neither_halt_nor_report(tmp_path: Path, template: bytes) -> None:
    board, ran = with_template(tmp_path, template)
    assert ran.code == 3
    assert board.section["status"] == "TRIGGERED"
    assert board.halt["trip"] == board.trigger["trip_id"]
    text = board.report.read_text()
    well_formed(text)
    assert "**Pattern:** retry_cluster" in text
    assert "report.md" in text, "the failed template is not reported"
    assert "root:" not in text
    assert "uid=" not in text
    assert len(board.logged) == 1


def test_missing_template_folder_is_harmless(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    assert board.analyze(env={"LIZA_TEMPLATES": str(tmp_path / "nowhere")}).code == 3
    well_formed(board.report.read_text())


def test_folder_in_place_of_template_is_harmless(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    (tmp_path / "own" / "report.md").mkdir(parents=True)
    assert board.analyze(env={"LIZA_TEMPLATES": str(tmp_path / "own")}).code == 3
    assert "**Pattern:** retry_cluster" in board.report.read_text()


def test_own_template_cannot_print_control_characters(tmp_path: Path) -> None:
    """A template without the filter `cell` shows agents' text unescaped; the terminal never does."""
    board = board_with(tmp_path, *[{**each, "task": "\x1b[2Jx"} for each in RETRY.records])
    own = tmp_path / "own"
    own.mkdir()
    (own / "report.md").write_text("{% for row in evidence %}{{ row.task }}\n{% endfor %}")
    assert board.analyze(env={"LIZA_TEMPLATES": str(own)}).code == 3
    assert board.run("status").code == 3
