"""The program that the agents of the demo work on: it flattens orders into rows, and fails on a nested order."""

import json
import sys


def rows(path: str, flatten: bool) -> None:
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            for name, value in json.loads(line).items():
                if isinstance(value, dict) and not flatten:
                    raise SystemExit(f"serialization failure on nested entity at line {number}")
                print(name, json.dumps(value), sep="\t")


rows(sys.argv[1], flatten="--flatten" in sys.argv)
