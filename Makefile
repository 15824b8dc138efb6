# `make demo` and `make test` are all one needs; both set everything up first.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
BENCH_STAMP := .venv/.installed-for-bench

.PHONY: install demo test fmt packs snapshots faults attack bench soak dist clean tools

install: $(STAMP)

# pip is brought up to date first: the entry-point scripts of an old one import `re` and start slower.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "liza needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/python -m compileall -q liza
	@touch $@

# What tests use of the system. Without one, the tests that need it are skipped and listed; with CI=true they fail.
TOOLS := git jq flock vim tmux dbus-daemon
tools:
	@missing=""; for tool in $(TOOLS); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	if [ -n "$$missing" ]; then echo "Not installed, so the tests that need them are skipped (with CI=true they fail):$$missing"; \
	echo "On Debian or Ubuntu: apt-get install git jq util-linux vim tmux dbus"; [ "$$CI" != true ]; fi

demo: install
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/demo/run.sh

# In memory, where there is room for it: a slow disk is not what these tests are about. `make faults` uses a real one.
SCRATCH := $(shell test -w /dev/shm && echo /dev/shm || echo /tmp)

# While the types are checked, the tests are collected once: their compiled form is kept, and no worker makes it again.
unexport PYTHONDONTWRITEBYTECODE

test: install tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/pytest -n 0 --collect-only -qq > /dev/null & $(BIN)/mypy; typed=$$?; wait; exit $$typed
	@scratch=$$(mktemp -d $(SCRATCH)/liza.XXXXXX) && chmod 755 $$scratch && trap 'rm -rf "$$scratch"' EXIT && TMPDIR=$$scratch $(BIN)/pytest

fmt: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# After a condition in a pack, or the language, has changed.
packs: install
	$(BIN)/python -m tests.rules.parse_packs

# Renew what people see, after a change that was meant: every `--help`, and the transcripts. Read the diff before a commit.
snapshots: install
	$(BIN)/python -m tests.cli.help
	$(BIN)/python -m tests.transcript

# What takes longer: kill -9, races, full disks, and the generated cases with a large budget.
faults: install tools
	$(BIN)/pytest -o addopts= -q -p no:xdist --timeout=600 tests/faults
	$(BIN)/pytest -o addopts= -q -n 2 -m slow --timeout=600 --ignore=tests/faults
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest --timeout=1800 tests/store $(wildcard tests/rules/test_language*.py) tests/rules/test_load_errors.py tests/rules/test_memo.py tests/daemon/test_incremental.py

# What a hostile agent could do, each tried: attack, result, the longest command, its memory, and what was seen to hold.
attack: install tools
	LIZA_ATTACK_TABLE=1 $(BIN)/pytest -o addopts= -q -p no:xdist --timeout=600 tests/security

# What only the benchmarks need, so that the tests do without: the programs that liza is compared with.
$(BENCH_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

bench: $(BENCH_STAMP)
	$(BIN)/python -m benchmarks

# The faults, round after round, for as many minutes as SOAK_MINUTES says.
SOAK_MINUTES ?= 30
soak: install tools
	$(BIN)/python -m tests.faults.soak $(SOAK_MINUTES)

# What is uploaded: built by tools in a venv of their own, checked, and tried where nothing of this folder is near.
dist: install
	$(PYTHON) -m venv build/tools
	build/tools/bin/python -m pip install --quiet --upgrade pip build twine
	rm -rf dist
	build/tools/bin/python -m build --outdir dist .
	build/tools/bin/twine check --strict dist/*
	$(BIN)/python -m tests.dist dist

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find liza tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
