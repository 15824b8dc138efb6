# `make demo` and `make test` install everything they need first.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
BENCH_STAMP := .venv/.installed-for-bench

.PHONY: install demo test fmt packs snapshots screenshots faults attack clients bench soak dist clean tools

install: $(STAMP)

# Upgrade pip first: entry-point scripts of older versions import `re` and start slower.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "liza needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/python -m compileall -q liza
	@touch $@

# Programs that the tests use. If one is missing, the tests that need it are skipped and listed; with CI=true they fail.
TOOLS := git jq flock vim tmux dbus-daemon chromium
tools:
	@missing=""; for tool in $(TOOLS); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	if [ -n "$$missing" ]; then echo "Not installed, so the tests that need them are skipped (with CI=true they fail):$$missing"; \
	echo "On Debian or Ubuntu: apt-get install git jq util-linux vim tmux dbus chromium"; [ "$$CI" != true ]; fi

demo: install
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/demo/run.sh

# Use memory if possible, so that a slow disk does not slow the tests down. `make faults` uses a real disk.
SCRATCH := $(shell test -w /dev/shm && echo /dev/shm || echo /tmp)

# Collect the tests once while mypy runs, so that the workers find the compiled files.
unexport PYTHONDONTWRITEBYTECODE

test: install tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/pytest -n 0 --collect-only -qq > /dev/null & $(BIN)/mypy; typed=$$?; wait; exit $$typed
	@scratch=$$(mktemp -d $(SCRATCH)/liza.XXXXXX) && chmod 755 $$scratch && trap 'rm -rf "$$scratch"' EXIT && TMPDIR=$$scratch $(BIN)/pytest

fmt: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Run after changing a condition in a pack, or the language.
packs: install
	$(BIN)/python -m tests.rules.parse_packs

# Renew what people see, after a change that was meant: every `--help`, docs' table of anomaly types, the transcripts. Read the diff before a commit.
snapshots: install
	$(BIN)/python -m tests.cli.help
	$(BIN)/python -m tests.docs.schema
	$(BIN)/python -m tests.transcript

# Renew the pictures of the dashboard, from a real run in Chromium.
screenshots: install
	$(BIN)/python -m tests.web.screenshots

# Slow tests: kill -9, races, full disks, and generated cases with a large budget.
faults: install tools
	$(BIN)/pytest -o addopts= -q -p no:xdist --timeout=600 tests/faults
	$(BIN)/pytest -o addopts= -q -n 2 -m slow --timeout=600 --ignore=tests/faults
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest --timeout=1800 tests/store $(wildcard tests/rules/test_language*.py) tests/rules/test_load_errors.py tests/rules/test_memo.py tests/daemon/test_incremental.py

# Attacks by a hostile agent, as a table: attack, result, slowest command (of a daemon: the test), its memory, and what was
# verified. Those outside of tests/security are where the same mechanism is tested for other causes.
ATTACKS := tests/security tests/daemon/test_lock_held.py tests/daemon/test_texts.py tests/daemon/test_torn.py \
	tests/cli/test_untrusted_text.py tests/scopes/sprint/test_untrusted.py tests/faults/test_put_back.py
attack: install tools
	LIZA_ATTACK_TABLE=1 $(BIN)/pytest -o addopts= -q -p no:xdist --timeout=600 $(ATTACKS)

# Real coding agents, installed from npm into build/clients, at work with a scripted model on loopback; figures are printed.
# Needs node and npm; CI does not run it.
clients: install tools
	$(BIN)/python -m tests.clients_real.packages
	@rm -f build/clients/outcomes.json
	@scratch=$$(mktemp -d $(SCRATCH)/liza.XXXXXX) && chmod 755 $$scratch && trap 'rm -rf "$$scratch"' EXIT && \
	TMPDIR=$$scratch $(BIN)/pytest -o addopts= -q -rP -n 3 --timeout=300 tests/clients_real; failed=$$?; \
	$(BIN)/python -m tests.clients_real.table; exit $$failed

# Installed for the benchmarks only: the programs that liza is compared with.
$(BENCH_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

bench: $(BENCH_STAMP)
	$(BIN)/python -m benchmarks

# Repeat the fault tests for SOAK_MINUTES.
SOAK_MINUTES ?= 30
soak: install tools
	$(BIN)/python -m tests.faults.soak $(SOAK_MINUTES)

# Build the packages with tools in a separate venv, check them, and test them outside this folder.
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
