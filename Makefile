# Every target sets up what it needs: a virtual environment in .venv and packages from PyPI, once.
# A stamp per set of packages remembers what is installed; a newer pyproject.toml makes it stale.

SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input --quiet --quiet

# The interpreter for the virtual environment; `make PYTHON=/path/to/python3.12 …` names another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 \
	&& $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; exit; }; done)

# Processes for pytest; two fit every machine.
JOBS ?= 2

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-11s %s\n", $$1, $$2 }'

# --- set-up -------------------------------------------------------------------------------------------

$(VENV)/.made:
	@if [ -z "$(PYTHON)" ]; then \
	  echo "Tidalog needs Python 3.11 or newer; found: $$(python3 --version 2>&1 || echo 'no python3')." >&2; \
	  echo "Install one, or name it: make PYTHON=/path/to/python3.12 demo" >&2; \
	  exit 1; \
	fi
	@if ! $(PYTHON) -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	  echo "$(PYTHON) has no venv module. On Debian and Ubuntu: apt install python3-venv" >&2; \
	  exit 1; \
	fi
	@[ -x $(PY) ] || echo "Making a virtual environment in $(VENV) with $$($(PYTHON) --version)"
	@[ -x $(PY) ] || $(PYTHON) -m venv $(VENV)
	@touch $@

# One stamp per extra of pyproject.toml; `.installed-core` is the package alone.
$(VENV)/.installed-core: $(VENV)/.made pyproject.toml
	@echo "Installing tidalog and what it needs"
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-%: $(VENV)/.made pyproject.toml
	@echo "Installing tidalog[$*]"
	@$(PIP) install --editable '.[$*]'
	@touch $@

# The compiled part of the engine, once for each state of its sources.  The stamp saves the time of looking, and
# parallel test processes find the code instead of waiting for it.
$(VENV)/.compiled: $(wildcard src/tidalog/engine/*.py src/tidalog/*/kernels/*.py src/tidalog/io/*_scan.py)
	@echo "Compiling the engine; this takes about a minute, once"
	@$(PY) -m tidalog.compile_kernels
	@touch $@

# --- what people run ----------------------------------------------------------------------------------

.PHONY: demo
demo: $(VENV)/.installed-core ## Stream a GPS track through Spark and see the map's connections change
	@$(MAKE) -s $(VENV)/.compiled
	@$(PY) examples/map/demo.py build/demo

.PHONY: test
test: lint ## Lint, types, import contract, every law (all tests but the slow ones), test-bounds
	@$(MAKE) -s $(VENV)/.compiled
	@$(PY) -m pytest -n $(JOBS) --hypothesis-profile=ci --durations=20 -m "not slow"
	@$(MAKE) -s test-bounds
	@echo "make test: all passed"

.PHONY: test-all
test-all: lint ## make test, and the slow tests that check the same laws on more cases
	@$(MAKE) -s $(VENV)/.compiled
	@$(PY) -m pytest -n $(JOBS) --hypothesis-profile=ci --durations=20
	@echo "make test-all: all passed"

# The tests of the kernels: those of the engine, and those that run most of the kernels of other packages.
BOUNDS := tests/engine $(addprefix tests/,$(addsuffix .py,\
	$(addprefix maintain/test_,shrunk_cases by_blocks counts dred_marks groups)\
	$(addprefix io/test_,io_delimited io_rdf_json_arrow rdf_round_trips)\
	$(addprefix storage/test_,formats impossible_numbers)\
	windows/test_expire))

.PHONY: test-bounds
test-bounds: $(VENV)/.installed-dev ## The kernels' tests with compiled code that checks every index
	@TIDALOG_BOUNDSCHECK=1 $(PY) -m tidalog.compile_kernels
	@TIDALOG_BOUNDSCHECK=1 $(PY) -m pytest -n $(JOBS) --hypothesis-profile=ci -m "not slow" $(BOUNDS)
	@echo "make test-bounds: all passed"

.PHONY: lint
lint: $(VENV)/.installed-dev ## ruff (lint and format), mypy --strict, import contract
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict src
	@$(BIN)/lint-imports --no-logo

# How long `make fuzz` looks for an update that goes wrong.
SECONDS ?= 3600

.PHONY: fuzz
fuzz: $(VENV)/.installed-dev ## Look for updates that maintenance gets wrong, for SECONDS=3600
	@$(MAKE) -s $(VENV)/.compiled
	@$(PY) -m tests.maintain.fuzz --seconds $(SECONDS)

.PHONY: bench
bench: $(VENV)/.installed-bench ## Tidalog beside its peers; prints a table and stores it in bench/results
	@$(PY) -m bench

.PHONY: docs
docs: $(VENV)/.installed-docs ## Build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo "Documentation: site/index.html"

.PHONY: fmt
fmt: $(VENV)/.installed-dev ## Format the code and fix what ruff can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: clean
clean: ## Remove the virtual environment, caches and everything built
	@rm -rf $(VENV) site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
