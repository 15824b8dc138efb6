"""The scope lock: which rule puts a file in or out of scope, and what a change outside does."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Result
from tests.run.repositories import SETTINGS, commit, git, repository
from tests.scopes.slices.run import Slices

PLAN = {
    "packages": ["internal/version", "internal/cmd/version.go", "example.org/app/internal/auth", "com.acme.users"],
    "deliverables": [
        "src/agents/gl.md (update)",
        "src/commands/",
        "web/app/[id]/page.tsx (rewrite <head>)",
        "docs/**/*.md",
    ],
    "contracts": ["C-12", "C-404"],
}
CONTRACTS = """\
# Contracts

### C-1: Another
creates `lib/other.ts`

### C-12: Conflict
The endpoint returns 409. Create `src/users/service.ts`, see https://example.org/spec/page.html and/or the RFC.
```go
# no heading: lib/fenced.go
```
#### Errors
Shape: package `internal/shapes`, config in `errors.yaml`, class `org.example.errors.Conflict`.

### C-13: Later
creates `lib/later.ts`
"""
SHAPES = {"a mapping": {"slices": {"S-1": PLAN}}, "a list": {"slices": [{"id": "S-0"}, {"id": "S-1", **PLAN}]}}
INSIDE = {
    "internal/version/version.go": "packages",
    "internal/version/deep/er/x.go": "packages",
    "internal/version": "packages",
    "internal/cmd/version.go": "packages",
    "internal/auth/token.go": "packages",
    "src/main/java/com/acme/users/User.java": "packages",
    "src/agents/gl.md": "deliverables",
    "src/commands/new.md": "deliverables",
    "web/app/[id]/page.tsx": "deliverables",
    "docs/a.md": "deliverables",
    "docs/deep/er/b.md": "deliverables",
    "src/users/service.ts": "contracts",
    "lib/fenced.go": "contracts",
    "internal/shapes/x.go": "contracts",
    "errors.yaml": "contracts",
    "src/org/example/errors/Conflict.java": "contracts",
    "./internal/version/../version/x.go": "packages",
}
OUTSIDE = [
    "internal/versionx/y.go",
    "internal/version.go",
    "xinternal/version/y.go",
    "internal/cmd/version.go.bak",
    "src/agents/gl.mdx",
    "src/commandsx/a.md",
    "web/app/i/page.tsx",
    "docs.md",
    "lib/other.ts",
    "lib/later.ts",
    "com/acme/usersx/a.java",
    "README.md",
    "../elsewhere.txt",
    "internal/version/../../main.go",
    "/etc/passwd",
]


@pytest.fixture(params=list(SHAPES))
def planned(request: pytest.FixtureRequest, slices: Slices) -> Slices:
    """A project with a GRAPH.json of either shape, contracts, and a Go module."""
    plan(slices, SHAPES[request.param])
    return slices


def plan(slices: Slices, graph: Any = None) -> None:
    (slices.root / "GRAPH.json").write_text(json.dumps(graph or {"slices": {"S-1": PLAN}}))
    (slices.root / "CONTRACTS.md").write_text(CONTRACTS)
    (slices.root / "go.mod").write_text("module example.org/app\n\ngo 1.22\n")


def scope(slices: Slices, *files: str, **more: Any) -> Result:
    return slices.attempt("scope", "--slice", "S-1", *files, **more)


def rules(slices: Slices, *files: str) -> dict[str, tuple[bool, str]]:
    """Whether each file is in scope, and the deciding rule."""
    answer = scope(slices, "--json", *files).json
    return {each["file"]: (each["in_scope"], each["rule"]) for each in answer["files"]}


def set_fields(slices: Slices, text: str) -> None:
    """Put fields into the slice by hand."""
    slices.write(f"version: 1\nslices:\n  S-1:\n    status: ACTIVE\n{text}")


def test_first_naming_rule_decides(planned: Slices) -> None:
    found = rules(planned, *INSIDE)
    assert {file: rule for file, (_, rule) in found.items()} == {
        os.path.normpath(file): rule for file, rule in INSIDE.items()
    }
    assert all(is_in for is_in, _ in found.values())
    ran = scope(planned, *INSIDE)
    assert ran.code == 0
    assert "src/users/service.ts (by a contract: src/users/service.ts in C-12)" in ran.out
    assert "the contract 'C-404' is not in CONTRACTS.md" in ran.out


@pytest.mark.parametrize("file", OUTSIDE)
def test_look_alike_file_is_out_of_scope(slices: Slices, file: str) -> None:
    plan(slices)
    ran = scope(slices, file)
    assert (ran.code, "not allowed" in ran.out, "liza attempt justify --slice S-1" in ran.out) == (1, True, True)


def test_one_file_outside_is_enough(planned: Slices) -> None:
    assert scope(planned, "internal/version/a.go", "main.go").code == 1


def test_files_in_scope_is_exclusive(slices: Slices) -> None:
    plan(slices)
    set_fields(slices, "    files_in_scope: [src/only.ts, 'lib (all of it)']\n")
    assert rules(slices, "src/only.ts", "lib/x.ts", "internal/version/a.go", "src/users/service.ts") == {
        "src/only.ts": (True, "files_in_scope"),
        "lib/x.ts": (True, "files_in_scope"),
        "internal/version/a.go": (False, "nothing names it"),
        "src/users/service.ts": (False, "nothing names it"),
    }


def test_empty_files_in_scope_excludes_everything(slices: Slices) -> None:
    plan(slices)
    set_fields(slices, "    files_in_scope: []\n")
    assert scope(slices, "internal/version/a.go").code == 1


def test_null_files_in_scope_is_ignored(slices: Slices) -> None:
    plan(slices)
    set_fields(slices, "    files_in_scope: null\n")
    assert scope(slices, "internal/version/a.go").code == 0


def test_invalid_files_in_scope_is_degraded(slices: Slices) -> None:
    set_fields(slices, "    files_in_scope: src/a.ts\n")
    ran = scope(slices, "src/a.ts")
    assert (ran.code, "files_in_scope: expected a list" in ran.err) == (4, True)


def test_contracts_may_be_on_the_blackboard(slices: Slices) -> None:
    (slices.root / "contracts").mkdir()
    (slices.root / "contracts" / "users.md").write_text("It lives in src/users and in `schema.sql`.\n")
    text = """\
    contracts:
      - contracts/users.md
      - "create `src/made.ts` and nothing else"
      - {id: C-7, files: [src/seven.ts], text: in lib/seven}
"""
    set_fields(slices, text)
    inside = ["src/users/a.ts", "schema.sql", "src/made.ts", "src/seven.ts", "lib/seven/x.ts"]
    assert {rule for _, rule in rules(slices, *inside).values()} == {"contracts"}
    assert scope(slices, "contracts/users.md").code == 1


IN_WORDS = [
    ("Change the `users` package.", "src/users/a.ts", True),
    ("Change the `users` package.", "src/orders/b.ts", False),
    ("the package users holds it", "src/users/a.ts", True),
    ("packages users, billing and orders", "src/orders/b.ts", True),
    ("The acme.users package", "src/acme/users/U.java", True),
    ("it lives in com.acme.users.", "src/main/java/com/acme/users/U.java", True),
    ("it lives in com.acme.users.", "src/main/java/com/acme/orders/O.java", False),
    ("the service (src/users/) validates", "src/users/a.ts", True),
    ("the service (src/users/) validates", "src/orders/b.ts", False),
    ("see [the page](docs/users.md)", "docs/users.md", True),
    ("see app/(auth)/[id]/page.tsx.", "app/(auth)/[id]/page.tsx", True),
    ("The package must validate", "the/x.ts", False),
]


@pytest.mark.parametrize(("text", "file", "is_in"), IN_WORDS)
def test_contract_names_packages_in_words(slices: Slices, text: str, file: str, is_in: bool) -> None:
    set_fields(slices, f"    contracts: [{{id: C-1, text: {json.dumps(text)}}}]\n")
    assert rules(slices, file) == {
        file: (is_in, "contracts" if is_in else "no scope is known" if "must" in text else "nothing names it")
    }


def test_allow_sets_what_a_slice_may_change(slices: Slices) -> None:
    plan(slices)
    assert slices.attempt("allow", "--slice", "S-1", "src/only.ts", "docs/**/*.md").code == 0
    assert slices.at()["files_in_scope"] == ["src/only.ts", "docs/**/*.md"]
    assert rules(slices, "docs/api/x.md", "internal/version/a.go") == {
        "docs/api/x.md": (True, "files_in_scope"),
        "internal/version/a.go": (False, "nothing names it"),
    }
    slices.attempt("allow", "--slice", "S-1", "--nothing")
    assert scope(slices, "docs/api/x.md").code == 1
    slices.attempt("allow", "--slice", "S-1", "--inferred", "--contract", "create `src/made.ts`")
    assert "files_in_scope" not in slices.at()
    assert rules(slices, "src/made.ts") == {"src/made.ts": (True, "contracts")}
    assert slices.actions == ["slice_scope_set"] * 3
    before = slices.state.read_bytes()
    for words in ([], ["a", "--nothing"], ["--nothing", "--inferred"]):
        assert slices.attempt("allow", "--slice", "S-1", *words).code == 2
    assert slices.state.read_bytes() == before


def test_allow_fixes_an_unusable_list(slices: Slices) -> None:
    set_fields(slices, "    files_in_scope: src/a.ts\n")
    assert slices.attempt("allow", "--slice", "S-1", "src/a.ts").code == 0
    assert scope(slices, "src/a.ts").code == 0


def test_slice_is_named_by_the_environment(slices: Slices) -> None:
    assert slices.attempt("fail", "--test", "t").code == 2
    slices.env["LIZA_SLICE"] = "S-1"
    assert [slices.attempt(verb, "--test", "t").code for verb in ("start", "fail", "pass")] == [0, 0, 0]
    slices.attempt("start", "--slice", "S-2", "--test", "t")
    assert (slices.results("S-1"), slices.results("S-2") if "attempts" in slices.at("S-2") else []) == (
        ["failed", "passed"],
        [],
    )
    assert len(slices.run("attempt", "status", "--json").json["slices"]) == 2


def test_links_are_resolved(slices: Slices, tmp_path: Path) -> None:
    plan(slices)
    for folder in ("internal/version", "shared"):
        (slices.root / folder).mkdir(parents=True)
    (slices.root / "shared" / "errors.go").write_text("")
    (slices.root / "internal" / "version" / "link.go").symlink_to("../../shared/errors.go")
    (slices.root / "internal" / "version" / "out").symlink_to(tmp_path)
    (slices.root / "alias").symlink_to("internal/version")
    assert rules(slices, "internal/version/link.go", "internal/version/out/x", "alias/new.go") == {
        "internal/version/link.go": (False, "nothing names it"),
        "internal/version/out/x": (False, "outside the working tree"),
        "alias/new.go": (True, "packages"),
    }


def test_link_itself_must_be_in_scope_too(slices: Slices) -> None:
    plan(slices)
    (slices.root / "internal" / "version").mkdir(parents=True)
    (slices.root / "internal" / "version" / "a.go").write_text("")
    (slices.root / "alias").symlink_to("internal/version")
    (slices.root / "internal" / "version" / "b.go").symlink_to("a.go")
    assert rules(slices, "alias", "internal/version/b.go") == {
        "alias": (False, "nothing names it"),
        "internal/version/b.go": (True, "packages"),
    }
    plan(slices, {"slices": {"S-1": {"deliverables": ["alias"], "packages": ["internal"]}}})
    assert rules(slices, "alias") == {"alias": (True, "packages")}, "a named link is in scope, too"


def test_without_a_scope_nothing_is_in_it(slices: Slices) -> None:
    ran = scope(slices, "src/a.ts")
    assert (ran.code, "no scope is known" in ran.out) == (1, True)
    assert "list the allowed files: files_in_scope of the slice, its contracts, or GRAPH.json" in ran.out
    plan(slices, {"slices": {"S-2": PLAN}})
    ran = scope(slices, "internal/version/a.go")
    assert (ran.code, "GRAPH.json has no slice 'S-1'" in ran.out) == (1, True)


@pytest.mark.parametrize("text", ["{", "[1, 2", '{"slices": 3}', "\x00", "[" * 9_000])
def test_unreadable_graph_is_degraded(slices: Slices, text: str) -> None:
    (slices.root / "GRAPH.json").write_text(text)
    ran = scope(slices, "a")
    assert (ran.code, "GRAPH.json" in ran.err) == (4, True)


def test_graph_may_be_elsewhere(slices: Slices) -> None:
    (slices.root / ".greenlight").mkdir()
    (slices.root / ".greenlight" / "GRAPH.json").write_text(json.dumps([{"slice_id": "S-1", **PLAN}]))
    assert scope(slices, "internal/version/a.go").code == 0
    (slices.root / "plan.json").write_text(json.dumps({"S-1": {"packages": "lib"}}))
    assert scope(slices, "--graph", "plan.json", "lib/a.go").code == 0
    assert scope(slices, "--graph", "none.json", "lib/a.go").code == 1


def test_scope_needs_a_file(slices: Slices) -> None:
    assert scope(slices).code == 2


# --- justifications -------------------------------------------------------------------------------------------------

FOUR = {
    "--file": "src/shared/errors.ts",
    "--test": "t",
    "--reason": "only it makes the shape",
    "--relationship": "C-12",
}


def justify(slices: Slices, **changed: str) -> Result:
    given = {**FOUR, **{f"--{name}": text for name, text in changed.items()}}
    return slices.attempt("justify", "--slice", "S-1", *(word for pair in given.items() for word in pair))


def test_justified_file_may_be_changed(slices: Slices) -> None:
    plan(slices)
    assert slices.does("start t") == [0]
    assert scope(slices, "src/shared/errors.ts").code == 1
    assert justify(slices).code == 0
    assert slices.at()["justifications"] == [
        {
            "timestamp": slices.at()["justifications"][0]["timestamp"],
            "file": "src/shared/errors.ts",
            "failing_test": "t",
            "reason": "only it makes the shape",
            "relationship": "C-12",
        }
    ]
    assert rules(slices, "src/shared/errors.ts") == {"src/shared/errors.ts": (True, "justified")}
    justify(slices, reason="better given")
    assert [each["reason"] for each in slices.at()["justifications"]] == ["better given"]


@pytest.mark.parametrize("name", ["file", "test", "reason", "relationship"])
def test_all_four_fields_are_required(slices: Slices, name: str) -> None:
    for text in ("  ", "n/a", "None.", "*", ".", "-"):
        ran = justify(slices, **{name: text})
        assert (ran.code, f"--{name} says nothing" in ran.err) == (1, True)
    words = [word for pair in FOUR.items() if pair[0] != f"--{name}" for word in pair]
    assert slices.attempt("justify", "--slice", "S-1", *words).code == 2
    assert "slices" not in slices.state.read_text()


@pytest.mark.parametrize("file", ["src", "src/*.ts", "./src/.."])
def test_one_file_is_justified_at_a_time(slices: Slices, file: str) -> None:
    slices.does("start t")
    (slices.root / "src").mkdir()
    assert justify(slices, file=file).code == 1
    assert "justifications" not in slices.at()


def test_justification_needs_a_test_of_the_slice(slices: Slices) -> None:
    ran = justify(slices)
    assert (ran.code, "liza attempt start --slice S-1 --test t" in ran.err) == (1, True)
    slices.does("start t", "fail t")
    assert justify(slices, test="tt").code == 1
    assert justify(slices).code == 0
    slices.attempt("reset", "--slice", "S-1", "-m", "again")
    assert justify(slices, reason="still needed").code == 0


def test_justification_by_hand_needs_words(slices: Slices) -> None:
    plan(slices)
    fields = "file: other.ts, failing_test: t, relationship: C-12"
    for reason, code in (("n/a", 1), ("only it has the shape", 0)):
        set_fields(slices, f"    justifications:\n      - {{{fields}, reason: {reason}}}\n")
        assert scope(slices, "other.ts").code == code


# --- changed files --------------------------------------------------------------------------------------------------


@pytest.fixture
def team(slices: Slices) -> Slices:
    """A slice started in a repository with a plan."""
    repository(slices.root, a="1")
    plan(slices)
    commit(slices.root)
    slices.env |= SETTINGS
    assert slices.does("start t") == [0]
    return slices


def change(slices: Slices, *files: str) -> None:
    for file in files:
        (slices.root / file).parent.mkdir(parents=True, exist_ok=True)
        (slices.root / file).write_text("changed")


def test_changed_files_come_from_git(team: Slices) -> None:
    ran = scope(team, "--changed")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "nothing was changed")
    change(team, "internal/version/a.go")
    assert scope(team, "--changed").code == 0
    change(team, "src/shared/errors.ts", "committed one.ts")
    git(team.root, "add", "committed one.ts")
    git(team.root, "commit", "-q", "-m", "by the slice")
    change(team, "internal/version/new\nline.go")
    ran = scope(team, "--changed")
    assert ran.code == 3
    assert "scope violated" in ran.out
    assert "liza attempt arch-stop --slice S-1" in ran.out
    assert [each["file"] for each in team.at()["scope_violations"]] == ["committed one.ts", "src/shared/errors.ts"]
    assert team.actions == ["slice_scope_violated"]


def test_violation_is_shown_until_justified_or_undone(team: Slices) -> None:
    change(team, "src/shared/errors.ts", "other.ts")
    assert scope(team, "--changed").code == 3
    assert "not allowed, and not justified: src/shared/errors.ts" in team.run("attempt", "status").out
    assert team.run("attempt", "status", "--json").json["slices"][0]["scope_violations"][0]["file"] == "other.ts"
    justify(team)
    assert [each["file"] for each in team.at()["scope_violations"]] == ["other.ts"]
    (team.root / "other.ts").unlink()
    assert scope(team, "--changed").code == 0
    assert team.at()["scope_violations"] == []
    change(team, "other.ts", "internal/version/a.go")
    scope(team, "--changed")
    team.does("fail t", "fail t", "fail t")
    report = team.report("t")
    assert report["scope_violations"] == [
        {"file": "other.ts", "justification": "none was given"},
        {"file": "src/shared/errors.ts", "justification": "only it makes the shape; C-12"},
    ]


@pytest.mark.parametrize("verb", ["fail", "pass"])
def test_change_outside_the_scope_is_shown_at_once(team: Slices, verb: str) -> None:
    change(team, "other.ts", "internal/version/a.go")
    ran = team.attempt(verb, "--slice", "S-1", "--test", "t")
    assert (ran.code, "not allowed, and not justified: other.ts" in ran.out) == (0, True)
    assert [each["file"] for each in team.at()["scope_violations"]] == ["other.ts"]
    assert team.actions == ["slice_scope_violated"]
    assert "other.ts" in team.run("attempt", "status").out
    assert "other.ts" in team.run("status").out
    warnings = [each for each in team.run("validate", "--json").json["problems"] if "other.ts" in each["message"]]
    assert [each["level"] for each in warnings] == ["warning"]
    team.attempt("fail", "--slice", "S-1", "--test", "t", "--files", "other.ts", "lib/x.ts")
    assert [each["file"] for each in team.at()["scope_violations"]] == ["other.ts", "lib/x.ts"]


def test_unreadable_scope_keeps_no_attempt_waiting(team: Slices) -> None:
    (team.root / "GRAPH.json").write_text("{not json")
    change(team, "other.ts")
    assert team.does("fail t") == [0]
    assert "scope_violations" not in team.at()


def test_reported_files_outside_scope_are_in_the_report(team: Slices) -> None:
    words = ["--slice", "S-1", "--test", "t", "--files", "lib/x.ts", "internal/version/a.go"]
    for _ in range(3):
        team.attempt("fail", *words)
    assert team.report("t")["scope_violations"] == [{"file": "lib/x.ts", "justification": "none was given"}]


def test_empty_violations_have_a_reason(team: Slices) -> None:
    change(team, "internal/version/a.go")
    team.does("fail t", "fail t", "fail t")
    report = team.report("t")
    assert report["scope_violations"] == []
    assert report["not_applicable"]["scope_violations"] == "no change outside the scope is known"


def test_without_a_scope_nothing_is_violated(team: Slices) -> None:
    (team.root / "GRAPH.json").unlink()
    change(team, "x")
    ran = scope(team, "--changed")
    assert (ran.code, "no scope is known" in ran.out) == (1, True)
    assert "scope_violations" not in team.at()


def test_changed_needs_a_started_test(slices: Slices) -> None:
    plan(slices)
    ran = scope(slices, "--changed")
    assert (ran.code, "not a git worktree" in ran.err) == (1, True)
    repository(slices.root)
    ran = scope(slices, "--changed")
    assert (ran.code, "no test was started yet" in ran.err) == (1, True)
    assert "liza attempt start --slice S-1 --test NAME" in ran.err


def test_changes_before_the_start_are_not_own(slices: Slices) -> None:
    repository(slices.root, a="1")
    plan(slices)
    slices.env |= SETTINGS
    change(slices, "mine.txt")
    slices.does("start t")
    assert scope(slices, "--changed").code == 0
    change(slices, "mine.txt", "a")
    (slices.root / "mine.txt").write_text("changed again")
    assert [each["file"] for each in scope(slices, "--changed", "--json").json["files"]] == ["a", "mine.txt"]


def test_allowed_file_is_no_violation(team: Slices) -> None:
    change(team, "other.ts", "src/shared/errors.ts")
    assert scope(team, "--changed").code == 3
    assert "src/shared/errors.ts" in team.attempt("allow", "--slice", "S-1", "other.ts").out
    assert [each["file"] for each in team.at()["scope_violations"]] == ["src/shared/errors.ts"]


def test_rollback_after_a_reset_clears_the_violations(team: Slices) -> None:
    change(team, "other.ts")
    team.does("fail t", "fail t", "fail t")
    team.attempt("reset", "--slice", "S-1", "-m", "again")
    assert "other.ts" in team.run("attempt", "status").out
    assert team.attempt("reset", "--slice", "S-1", "-m", "again", "--rollback").code == 0
    assert not {"scope_violations", "justifications"} & team.at().keys()
    assert "other.ts" not in team.run("attempt", "status").out
    assert [each["file"] for each in team.at()["history"][0]["scope_violations"]] == ["other.ts"]


def test_rollback_clears_the_violations(team: Slices) -> None:
    change(team, "other.ts")
    scope(team, "--changed")
    justify(team)
    team.does("fail t", "fail t", "fail t")
    assert team.attempt("reset", "--slice", "S-1", "-m", "again", "--rollback").code == 0
    assert not {"scope_violations", "justifications"} & team.at().keys()
    assert len(team.at()["history"][0]["justifications"]) == 1
