# What there is to run; each target sets up what it needs. PYTHON names the interpreter that .venv is made with.

PYTHON ?= python3
BIN := .venv/bin
DEMO_MONTHS := 2024-01:2024-02
PORT ?= 3000
export DAGSTER_HOME ?= $(CURDIR)/data/dagster
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo ui test fast lint bench clean

demo: .venv/installed
	$(BIN)/taxi-assets sample $(DEMO_MONTHS)
	$(BIN)/taxi-assets materialize $(DEMO_MONTHS)
	$(BIN)/taxi-assets tables
	$(BIN)/taxi-assets checks 2024-01
	$(BIN)/taxi-assets checks 2024-02
	@echo "Next: make ui, and open http://127.0.0.1:$(PORT)"

ui: .venv/installed
	mkdir -p $(DAGSTER_HOME)
	test -e $(DAGSTER_HOME)/dagster.yaml || cp taxi_assets/dagster.yaml $(DAGSTER_HOME)/
	PYTHONWARNINGS='ignore:Function `dev_command` is superseded' $(BIN)/dagster dev -w workspace.yaml -h 127.0.0.1 -p $(PORT)

test: lint .venv/dev
	$(BIN)/pytest

fast: .venv/dev
	$(BIN)/pytest -m fast

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/dev
	$(BIN)/python bench/run.py

clean:
	rm -rf .venv build *.egg-info data

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint requirements.lock --editable .
	touch $@

.venv/dev: .venv/installed
	$(BIN)/pip install --quiet --constraint requirements.lock --editable .[dev]
	touch $@
