# Everything sets itself up: a virtual environment in .venv, from pyproject.toml.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: reproduce test check bench peers clean

reproduce: .venv/ready  ## The paper's 27 curves: a table and a picture
	$(BIN)/python -m lastblock.lab.reproduce

test: check  ## Everything that CI runs
	$(BIN)/python -m pytest -n 2 --dist loadscope

check: .venv/ready  ## Style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready  ## Speed and memory, as ratios taken in one run
	$(BIN)/python -m benchmarks

peers: .venv/ready  ## The same job through other libraries, in one run
	for peer in mabwiser river SMPyBandits; do $(PIP) $$peer || true; done
	$(BIN)/python -m benchmarks.peers

clean:
	rm -rf .venv build dist

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) --editable '.[test]'
	touch $@
