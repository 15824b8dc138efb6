"""The prose of the pages is correct, too: names, options, numbers and outcomes that no block shows."""

import builtins
import inspect
import re
from importlib import import_module
from pathlib import Path

import click
import pytest

import liza.api as liza_api
from liza.cli.group import liza
from liza.errors import LizaError
from liza.rules.similar import similar_groups
from liza.run.done_markers import claims_done
from liza.schema import rules_yaml as blocks
from liza.scopes.anomalies import Added
from liza.scopes.loops.record import LoopResult
from liza.scopes.rules_file import read_rules
from liza.scopes.scope import Gate
from liza.scopes.slices import diagnosis
from liza.scopes.sprint.evaluate import Check
from liza.scopes.sprint.resolve import Resolution
from tests.docs import pages
from tests.store.oracle import ruamel_value

API, ATTEMPTS, LOOPS, PROTOCOLS, RULES, RUN = (
    (pages.ROOT / "docs" / f"{name}.md").read_text()
    for name in ("api", "attempts", "loops", "protocols", "rules", "run")
)
COMMON = {"--root", "--debug", "--json", "--now"}
PAIRS = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (together|apart): ", RULES, re.MULTILINE)


def yaml(text: str) -> list[str]:
    return [block.text for block in pages.blocks(text) if block.kind == "yaml"]


def named(*words: str) -> click.Command:
    """The command with this name."""
    command: click.Command = liza
    context = click.Context(command)
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(context, word)
        assert found is not None, words
        command = found
    return command


def options(*words: str) -> set[str]:
    return {name for each in named(*words).params for name in each.opts if name.startswith("--")}


# --- attempts -------------------------------------------------------------------------------------------------------


def test_attempts_names_every_rule_command_and_report_field() -> None:
    names = {each.rule.name for each in read_rules(None).scoped["attempts"]} | set(diagnosis.FIELDS)
    assert {name for name in names if f"`{name}`" not in ATTEMPTS} == set()
    family = named("attempt")
    assert isinstance(family, click.Group)
    verbs = family.list_commands(click.Context(family))
    assert len(verbs) >= 12
    assert {verb for verb in verbs if f"liza attempt {verb} " not in ATTEMPTS} == set()


@pytest.mark.parametrize("verb", ["start", "fail", "exec", "junit", "diagnose", "reset", "scope", "justify"])
def test_attempts_shows_every_option(verb: str) -> None:
    shown = COMMON | {"--by", "--message", "--error-file"}
    assert {name for name in options("attempt", verb) - shown if name not in ATTEMPTS} == set()


def test_empty_field_shown_in_attempts_has_a_valid_reason() -> None:
    (reason,) = [text for text in yaml(ATTEMPTS) if text.startswith("not_applicable:")]
    empty = {**dict.fromkeys(diagnosis.FIELDS, "something"), "best_hypothesis": ""}
    assert [field for field, _ in diagnosis.missing_fields(empty)] == ["best_hypothesis"]
    assert list(diagnosis.missing_fields({**empty, **ruamel_value(reason.encode())})) == []


# --- loops ----------------------------------------------------------------------------------------------------------


def test_loops_has_a_row_for_every_rule_and_option() -> None:
    rules = {each.rule.name for each in read_rules(None).scoped["loops"]}
    assert {name for name in rules if f"`{name}`" not in LOOPS} == set()
    assert {name for name in options("loop", "record") - COMMON if f"`{name}" not in LOOPS} == set()


def test_limits_shown_in_loops_are_the_defaults() -> None:
    (settings,) = yaml(LOOPS)
    for name, limit in blocks.LIMITS.items():
        assert re.search(rf"{name}: {limit.default}\b", settings), name
        assert re.search(rf"{name}:.*\b{limit.least} to {limit.most}\b", settings), name
    for project, limits in blocks.PROJECTS.items():
        loops, percent = limits["max_loops_no_progress"], limits["stagnation_threshold"]
        assert re.search(rf"`{project}`\s\({loops}, {percent}%\)", LOOPS), project


def test_settings_shown_in_loops_differ_from_the_defaults_once(tmp_path: Path) -> None:
    (settings,) = yaml(LOOPS)
    (tmp_path / "rules.yaml").write_text(settings)
    (change,) = read_rules(str(tmp_path / "rules.yaml")).changes
    assert "projects.'debugging'.max_loops_no_progress is 12" in change


# --- rules and run --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other", "verdict"), PAIRS)
def test_texts_are_grouped_as_rules_shows(one: str, other: str, verdict: str) -> None:
    groups = similar_groups([one, other], 0.7)
    assert (groups[one] == groups[other]) is (verdict == "together")


def test_rules_has_its_recipes() -> None:
    recipes = [text for text in yaml(RULES) if re.search(r"^rules:$", text, re.MULTILINE)]
    assert (len(PAIRS), len(recipes) >= 7) == (11, True)


def test_claims_listed_in_run_are_recognised() -> None:
    words = re.findall(r"`([^`]+)`", RUN.partition("nothing else on it:")[2].partition("A progress of 100")[0])
    claims = [" ".join(each.split()).replace("...", "DONE") for each in words]
    assert len(claims) == 9
    assert [each for each in claims if not claims_done([each])] == []


def test_options_named_in_run_exist() -> None:
    found = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", RUN))
    assert found - options("run") == set()
    assert len(found) > 10


# --- the Python API -------------------------------------------------------------------------------------------------


def test_api_shows_every_function_with_its_arguments() -> None:
    for name in ("analyze", "record", "gate", "loop", "resolve"):
        (written,) = re.findall(rf"^\| `{name}\((.*?)\)` \|", API, re.MULTILINE)
        parameters = inspect.signature(getattr(liza_api, name)).parameters.values()
        own = inspect.Signature([each.replace(annotation=each.empty) for each in parameters])
        assert str(own) == f"({written})"


def test_api_has_a_row_for_every_argument_of_an_iteration() -> None:
    table = API.partition("| argument |")[2].partition("\n\n")[0]
    known = set(inspect.signature(liza_api.Loop.record).parameters) - {"self", "now"}
    assert set(re.findall(r"`([a-z_]+)`", table)) - {"ok", "error", "timeout", "crash"} == known - {"error"}
    assert "`error`" in table


@pytest.mark.parametrize("fact", [Check, Gate, Added, Resolution, LoopResult], ids=lambda fact: fact.__name__)
def test_api_has_a_row_for_every_returned_field(fact: type[tuple[object, ...]]) -> None:
    table = API.partition(f"**`{fact.__name__}`**")[2].partition("\n\n**`")[0]
    rows = re.findall(r"^\| (`.*?`) \| ", table, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    own = {name for name, value in vars(fact).items() if isinstance(value, property)}
    assert listed == set(getattr(fact, "_fields")) | own  # noqa: B009


def test_errors_have_the_base_classes_shown_in_api() -> None:
    rows = re.findall(r"^\| `(liza\.\S+)\.(\w+)` \| `(\w+)` \|", API, re.MULTILINE)
    assert len(rows) == 5
    for module, name, builtin in rows:
        error = getattr(import_module(module), name)
        assert issubclass(error, LizaError)
        assert issubclass(error, getattr(builtins, builtin))


# --- protocols ------------------------------------------------------------------------------------------------------


def test_protocols_names_every_rule() -> None:
    rules = read_rules(None)
    found = {each.rule.name for each in rules.rules if each.rule.action == "CHECKPOINT"}
    found |= {each.rule.name for pack in ("disputes", "attempts", "loops") for each in rules.scoped[pack]}
    assert len(found) >= 21
    assert {name for name in found if f"`{name}`" not in PROTOCOLS} == set()


@pytest.mark.parametrize("family", ["attempt", "claim", "loop", "stage"])
def test_protocols_names_every_command(family: str) -> None:
    (verbs,) = re.findall(rf"`liza\s{family}\s([a-z-]+(?:\|[a-z-]+)+)`", PROTOCOLS)
    group = named(family)
    assert isinstance(group, click.Group)
    assert set(verbs.split("|")) == set(group.list_commands(click.Context(group)))
