"""Metrics as Prometheus reads them."""

import shutil
import subprocess
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Scraped:
    """The samples of one scrape."""

    def __init__(self, text: str) -> None:
        self.samples: Samples = {}
        self.names: set[str] = set()
        self.families: list[str] = []
        for family in text_string_to_metric_families(text):
            self.families.append(family.name)
            self.names.add(f"{family.name}_total" if family.type == "counter" else family.name)
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                assert key not in self.samples
                self.samples[key] = sample.value

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples of that name that have these labels."""
        wanted = set(labels.items())
        found = [value for (known, has), value in self.samples.items() if known == name and wanted <= has]
        assert found, (name, labels)
        return sum(found)


def read(file: Path) -> Scraped:
    return Scraped(file.read_text())


def promtool(*words: str, text: str = "", folder: Path | None = None) -> None:
    """Prometheus' own check; Debian's package `prometheus` has it. Where it is missing, the form alone is tested."""
    if shutil.which("promtool") is not None:
        done = subprocess.run(["promtool", *words], input=text, cwd=folder, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
