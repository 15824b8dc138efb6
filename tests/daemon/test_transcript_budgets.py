"""Budgets of sessions that no hook reports: what their transcripts say they used is counted by the daemon."""

from pathlib import Path

import pytest

from liza.store.paths import Paths
from liza.store.session_halt import read_session_halt
from liza.store.steps import read_all
from tests.cli.run import installed, liza
from tests.clients.hook import event, run
from tests.clients.transcripts import (
    ClaudeWriter,
    Clock,
    CodexWriter,
    Writer,
    append,
    gemini_answer,
    gemini_head,
    place,
    qwen_answer,
    qwen_report,
)
from tests.daemon.daemon import until
from tests.daemon.test_transcripts import rows, start, stopped

PRICE = "{input: 900, output: 900}"
CENTS = 9  # that a call comes to: a hundred tokens


def parent_and_child(client: str, folder: Path) -> tuple[Writer, Writer]:
    """A session and its subagent."""
    clock = Clock(None)
    if client == "claude":
        return ClaudeWriter(folder, clock=clock), ClaudeWriter(folder, agent="a0ff", clock=clock)
    parent = CodexWriter(folder, clock=clock)
    return parent, CodexWriter(folder, "a0ff", parent.session, clock)


def used(folder: Path, *sessions: str) -> int:
    """The entries of usage in the files of these sessions."""
    paths = Paths(str(folder / ".liza"))
    return sum(line.get("note") == "usage" for each in sessions for line in read_all(paths, each).lines)


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_budget_of_half_a_dollar_stops_before_sixty_cents(project: Path, client: str) -> None:
    """The session and its subagent take turns; both count for the session."""
    rules = f"budgets: {{session: {{cost: 0.5}}}}\nprices: {{model-a: {PRICE}, model-b: {PRICE}}}\n"
    (project / ".liza" / "rules.yaml").write_text(rules)
    both = parent_and_child(client, project)
    parent, child = both[0].session, "a0ff"
    start(project)
    for made in both:
        append(place(project, made), made.begin())
    cents, halt = 0, stopped(project, parent)
    while cents + CENTS < 50:
        made = both[cents % 2]
        append(place(project, made), made.call(f"t{cents}", f"make {cents}", f"{cents} is built", ok=True))
        cents += CENTS
    until(lambda: used(project, parent, child) * CENTS == cents)
    assert not halt.exists()
    append(place(project, both[0]), both[0].call("last", "make it", "it is built", ok=True))
    until(halt.exists)
    assert cents + CENTS < 60
    found = read_session_halt(str(halt.parent), parent)
    assert found is not None
    assert found.pattern == "budget_session_cost"
    assert sum(each["cost"] for each in rows(project).values()) == pytest.approx((cents + CENTS) / 100)


def test_unknown_model_is_counted_in_tokens_and_alarmed(project: Path) -> None:
    (project / ".liza" / "rules.yaml").write_text("budgets: {session: {cost: 0.5, tokens: 250}}\n")
    made = ClaudeWriter(project, clock=Clock(None))
    append(place(project, made), [*made.begin(), *made.call("t0", ok=True), *made.call("t1", "ls", "x", ok=True)])
    start(project)
    until(lambda: "model-a" in (project / ".liza" / "alerts.log").read_text())
    append(place(project, made), made.call("t2", "pwd", "y", ok=True))
    until(stopped(project, made.session).exists)
    row = rows(project)[made.session]
    assert (row["tokens"], row["cost"], row["unpriced"]) == (300, None, {"model-a": 300})
    assert liza(project, "status").code == 0


def test_session_of_gemini_pays_for_its_subagent(project: Path) -> None:
    folder = project / ".gemini" / "tmp" / "shop"
    chats = folder / "chats"
    append(chats / "session-2026-11-18T09-00-first.jsonl", [gemini_head("first"), gemini_answer("a", 100)])
    append(chats / "first" / "child.jsonl", [gemini_head("child", is_subagent=True), gemini_answer("b", 60)])
    (folder / ".project_root").write_text(str(project))
    installed(project, "watch", "--once")
    shown = rows(project)
    assert {name: (row["tokens"], row["parent"], row["steps"]) for name, row in shown.items()} == {
        "first": (100, None, 0),
        "child": (60, "first", 0),
    }
    (project / ".liza" / "rules.yaml").write_text("budgets: {session: {tokens: 200}}\n")
    append(chats / "first" / "child.jsonl", [gemini_answer("b", 60), gemini_answer("c", 40)])
    installed(project, "watch", "--once")
    assert rows(project)["first"]["state"] == "stop requested, no hook"


def test_hooked_session_of_qwen_has_its_steps_from_the_hook(project: Path) -> None:
    """And what it used from its transcript."""
    call = {"tool_name": "run_shell_command", "tool_input": {"command": "make"}, "tool_response": {"llmContent": "x"}}
    run(project, "after", event("PostToolUse", "chat", tool_use_id="c1", **call), client="qwen")
    other = project.parent / "other"
    for cwd in (project, other):
        file = project / ".qwen" / "projects" / f"-{cwd.name}" / "chats" / f"{cwd.name}.jsonl"
        session = "chat" if cwd == project else "of-another-project"
        append(file, [qwen_report(session, cwd, "r1", 100), qwen_answer(session, cwd, 100, {"text": "Done."})])
    installed(project, "watch", "--once")
    shown = {name: (row["tokens"], row["steps"], row["source"]) for name, row in rows(project).items()}
    assert shown == {"chat": (100, 1, "hook")}
