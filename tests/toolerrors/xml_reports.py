"""JUnit reports made for a test."""

from pathlib import Path

from liza.toolerrors.junit import read
from liza.toolerrors.results import Report


def text_of(tmp_path: Path, text: str | bytes, *names: str) -> Report:
    file = tmp_path / "report.xml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read([str(file)], names)


def suite(*cases: str) -> str:
    return f"<testsuites><testsuite name='s'>{''.join(cases)}</testsuite></testsuites>"
