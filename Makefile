# Everything sets itself up: a virtual environment in .venv, from pyproject.toml.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Three processes on two cores, since tests of other processes often wait. So threads for linear
# algebra, which wait in busy loops, would only be in the way.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadscope

# Not in the recipes themselves, where `make -n test` would run them. Users' types come last: mypy
# has read the package by then.
CHECKS := $(MAKE) --no-print-directory -k -j 2 layers types docs users-types
READY := $(MAKE) --no-print-directory -j 3 .venv/ready packages bytecode

# Tests start Python hundreds of times; each time it would read all the sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: reproduce test trials quick check style types users-types layers docs ready packages bytecode \
  bench peers clean

reproduce: .venv/ready  ## All of the paper's figures and tables, and a report
	$(BIN)/lastblock reproduce

# Layers, types and the site need no test, and use the time in which tests wait. A shell lets its
# background go on after Ctrl-C, unless it is told.
test: ready  ## Everything, with each trial in its short form
	@$(MAKE) --no-print-directory style
	@mkdir -p build; rm -rf docs/reference/generated  # now: tests walk through docs
	@nice -n 10 $(CHECKS) >build/checks.txt 2>&1 & \
	checks=$$!; trap 'kill $$checks; exit 130' INT; \
	$(PYTEST) -m "not trial"; tested=$$?; \
	if wait $$checks; then echo "layers, types and site: fine"; else cat build/checks.txt; exit 1; fi; \
	exit $$tested

trials: ready  ## Kills, forks, soaks and laws of random draws, many times over
	$(PYTEST) -m trial

quick: .venv/ready  ## Policies, live bandits, replay and simulation: a minute, once compiled
	$(BIN)/python -m pytest -q -n 2 --dist loadscope -m quick

check: style types users-types layers  ## All that needs no test to run

style: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/mypy

users-types: .venv/ready  # what type checkers tell users
	$(BIN)/mypy tests/typing/good.py tests/typing/mistakes.py
	$(BIN)/basedpyright

layers: .venv/ready
	$(BIN)/lint-imports

docs: .venv/ready  ## The site, into build/docs; every warning is an error
	rm -rf build/docs docs/reference/generated
	$(BIN)/python -m sphinx -n -W --keep-going -q -b html docs build/docs
	@echo "site: build/docs/index.html"

ready:  ## What tests need, side by side: the environment, a browser, a database server
	@$(READY)
	@has() { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; }; \
	has >/dev/null 2>&1 || $(PIP) pgserver >/dev/null 2>&1 \
	  || echo "PostgreSQL could not be installed; tests of stores on it will be skipped"

# Some tests need a browser or a database server; where they cannot be had they are skipped, and
# say so.
packages:  ## Chromium and PostgreSQL, if they are missing and can be installed
	@if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  export DEBIAN_FRONTEND=noninteractive; \
	  install() { timeout 120 apt-get install -y -qq --no-install-recommends "$$@"; }; \
	  get() { install "$$@" || { timeout 60 apt-get update -qq && install "$$@"; }; }; \
	  { command -v chromium && command -v chromedriver; } >/dev/null \
	    || get chromium chromium-driver >/dev/null 2>&1 \
	    || echo "Chromium could not be installed; tests in a browser will be skipped"; \
	  { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1 \
	    || get postgresql >/dev/null 2>&1 || true; \
	fi

bytecode:  # Once, while pip works: else each process of the tests would compile all sources anew.
	@$(PYTHON) -m compileall -q src tests benchmarks examples docs || true

bench: .venv/ready  ## Speed and memory, as ratios taken in one run
	$(BIN)/python -m benchmarks

peers: .venv/ready  ## The same job through other libraries, each in an environment of its own
	$(BIN)/python -m benchmarks.peers

clean:
	rm -rf .venv .venv-peers build dist docs/reference/generated

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) --editable '.[test]'
	touch $@
