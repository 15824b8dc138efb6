"""Where liza cannot do its work: `liza doctor` and `liza status` report it, and a halt still blocks."""

import json
import os
import signal
from typing import Any

import pytest

from tests.clients_real.lab import OPTIONS, Lab, wait, working


def errors(lab: Lab, about: str) -> list[Any]:
    """What `liza doctor` finds wrong."""
    shown = lab.liza("doctor", "--json").json["findings"]
    return [each for each in shown if (each["about"], each["level"]) == (about, "error")]


def blocks(lab: Lab, client: str) -> None:
    """A halt blocks every call, and no client goes on asking its model: without liza the script itself refuses."""
    agent = lab.start(client, [working("a", number) for number in range(12)])
    wait(lambda: lab.ran("a") >= 2, "some work was done")
    (lab.board / "CHECKPOINT").write_text("2026-01-01T00:00:00Z\n")
    done = lab.ran("a") + 1  # one may have begun
    agent.finish()
    print(f"{client}: {lab.ran('a')} calls, {len(agent.requests)} requests")
    assert lab.ran("a") <= done
    assert len(agent.requests) <= 13


@pytest.mark.parametrize("cause", ["uninstalled", "without its Python"])
def test_liza_is_missing(lab: Lab, client: str, cause: str) -> None:
    lab.set_up(client)
    lab.path = lab.path.partition(":")[2]
    program = lab.home / "liza"
    (lab.home / ".local" / "share" / "liza" / "program").write_text(f"{program}\n")
    if cause != "uninstalled":
        program.write_text("#!/nonexistent/venv/bin/python\n")
        program.chmod(0o755)
    assert errors(lab, "hooks")
    (hook,) = lab.liza("status", "--json").json["hooks"]
    assert (hook["client"], bool(hook["problems"])) == (client, True)
    blocks(lab, client)


def test_daemon_is_killed(lab: Lab, client: str) -> None:
    lab.set_up(client)
    agent = lab.start(client, [working("a", number) for number in range(12)])
    wait(lambda: lab.ran("a") >= 2, "some work was done")
    daemon = lab.liza("status", "--json").json["daemon"]
    os.kill(daemon["pid"], signal.SIGKILL)
    if client == "qwen":  # its next request starts another
        wait(lambda: lab.liza("status", "--json").json["daemon"]["pid"] not in (None, daemon["pid"]), "it is restarted")
    else:
        wait(lambda: not (lab.processes("watch")), "it is gone")
        assert lab.liza("status", "--json").json["daemon"]["state"] == "gone"
        assert errors(lab, "daemon")
    (lab.board / "CHECKPOINT").write_text("2026-01-01T00:00:00Z\n")
    wait(lambda: lab.is_held(agent), "its next call is held")


@pytest.mark.parametrize(("client", "ran"), [("codex", 1), ("gemini", 0), ("qwen", 0)])
def test_untrusted_hook_is_reported(lab: Lab, client: str, ran: int) -> None:
    """Codex runs no hook before a person has trusted it: nothing is blocked, so liza has to say so.

    Gemini CLI, without a terminal, does not even start in such a folder; Qwen Code starts and makes no calls.
    """
    lab.set_up(client)
    if client == "qwen":
        (lab.home / ".qwen").mkdir()
        (lab.home / ".qwen" / "settings.json").write_text('{"security": {"folderTrust": {"enabled": true}}}')
        (lab.home / ".qwen" / "trustedFolders.json").write_text(json.dumps({str(lab.project): "DO_NOT_TRUST"}))
    assert errors(lab, "hooks")
    assert lab.liza("trip", "-m", "payments is down").code == 3
    agent = lab.start(client, [working("a", 0)], OPTIONS._replace(trusts=False))
    agent.finish()
    assert lab.ran("a") == ran
    assert errors(lab, "hooks")
    (hook,) = lab.liza("status", "--json").json["hooks"]
    assert (hook["client"], bool(hook["problems"])) == (client, True)
