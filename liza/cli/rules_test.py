"""`liza rules test`: finding the files, running the cases, printing the results."""

import os
from collections.abc import Sequence
from itertools import groupby

import click

from liza.cli import envelope, show
from liza.errors import LizaError, Refused, Unreadable, location
from liza.model import Problem
from liza.replay.cases import CaseFile, Outcome, read_cases, run_case, span
from liza.rules.evaluate import RuleSet
from liza.scopes.rules_file import read_rules
from liza.text import plural, printable


def run(
    files: Sequence[str], wanted: str | None, junit: str | None, rules_file: str | None, quiet: bool, as_json: bool
) -> int:
    """Try all cases of all files; 1 if one has another outcome than it expects."""
    tried = _try(_read(_found(files)), wanted, rules_file)
    failed = [each for each in tried if each.wrong]
    if junit is not None:
        _write_junit(junit, tried)
    if as_json:
        rows = [
            {
                "file": os.path.relpath(each.case.file),
                "line": each.case.line,
                "name": each.case.name,
                "ok": not each.wrong,
                "wrong": list(each.wrong),
                "trips": [
                    {"rule": trip.rule.name, "at": span(trip.at - each.case.start)} for trip in each.played.trips
                ],
            }
            for each in tried
        ]
        status = "failed" if failed else "ok"
        envelope.write("rules test", status, cases=rows, passed=len(tried) - len(failed), failed=len(failed))
    else:
        _print(tried, quiet)
    return 1 if failed else 0


def _found(files: Sequence[str]) -> list[str]:
    """The files, and those in the folders, that were named."""
    found: list[str] = []
    for file in files:
        if not os.path.isdir(file):
            found.append(file)
            continue
        inside = sorted(
            os.path.join(folder, name)
            for folder, _, names in os.walk(file)
            for name in names
            if name.endswith((".yaml", ".yml")) and _has_cases(os.path.join(folder, name))
        )
        if not inside:
            raise Refused(f"no test cases in {file}", hint="a file of test cases has 'cases:' in it")
        found += inside
    return found


def _has_cases(file: str) -> bool:
    """Whether a file in a folder is one of cases: the rules they are about may lie beside them."""
    try:
        with open(file, "rb") as opened:
            return any(line.startswith(b"cases:") for line in opened)
    except OSError:
        return True  # let reading it say what is wrong


def _read(files: Sequence[str]) -> list[CaseFile]:
    found: list[CaseFile] = []
    problems: list[Problem] = []
    for file in files:
        try:
            found.append(read_cases(file))
        except Unreadable as error:
            problems += error.listed(file)
    if problems:
        raise Refused.like(problems[0], problems)
    return found


def _try(files: Sequence[CaseFile], wanted: str | None, rules_file: str | None) -> list[Outcome]:
    known: dict[str | None, RuleSet] = {}
    tried: list[Outcome] = []
    for file in files:
        source = file.rules or rules_file
        if source not in known:
            try:
                known[source] = read_rules(source, must_exist=source is not None)
            except LizaError as error:
                if source == file.rules and error.file == source and not os.path.exists(source or ""):
                    error.hint = f"it is named under rules: in {file.file}, and looked for from there"
                raise Refused.like(error, error.problems) from None
        tried += [
            run_case(case, known[source])
            for case in file.cases
            if wanted is None or wanted.lower() in case.name.lower()
        ]
    if not tried:
        names = [case.name for file in files for case in file.cases]
        raise Refused(f"no case matches {wanted!r}", hint=f"the cases are: {', '.join(map(repr, names[:8]))}")
    return tried


def _print(tried: Sequence[Outcome], quiet: bool) -> None:
    for file, outcomes in groupby(tried, key=lambda each: each.case.file):
        mine = list(outcomes)
        if quiet and not any(each.wrong for each in mine):
            continue
        click.echo(show.bold(printable(os.path.relpath(file))))
        for each in mine:
            if each.wrong:
                where = location("", each.case.line, each.case.column).strip(": ")
                click.echo(f"  {click.style('FAIL', fg='red', bold=True)}  {printable(each.case.name)}  (line {where})")
                for line in each.wrong:
                    click.echo(f"        {show.short(line, 300)}")
            elif not quiet:
                click.echo(f"  {click.style('ok', fg='green')}    {printable(each.case.name)}")
    failed = sum(bool(each.wrong) for each in tried)
    count = plural(len(tried), "case")
    click.echo(
        f"{count}: " + (click.style(f"{failed} failed", fg="red") if failed else click.style("all ok", fg="green"))
    )


def _write_junit(path: str, tried: Sequence[Outcome]) -> None:
    from xml.etree import ElementTree as ET

    suites = ET.Element("testsuites")
    for file, outcomes in groupby(tried, key=lambda each: each.case.file):
        mine = list(outcomes)
        failures = sum(bool(each.wrong) for each in mine)
        name = printable(os.path.relpath(file))
        suite = ET.SubElement(suites, "testsuite", name=name, tests=str(len(mine)), failures=str(failures))
        for each in mine:
            case = ET.SubElement(suite, "testcase", classname=name, name=printable(each.case.name))
            if each.wrong:
                failure = ET.SubElement(case, "failure", message=printable(each.wrong[0]))
                failure.text = "\n".join(map(printable, each.wrong))
    try:
        ET.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise Refused(f"the JUnit file could not be written: {error.strerror}", file=path) from None
