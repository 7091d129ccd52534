# What there is to run; each target sets up what it needs. PYTHON names the interpreter that .venv is made with.

PYTHON ?= python3
BIN := .venv/bin
# In the first some checks warn, in the second none.
DEMO_MONTHS := 2024-01:2024-02
STAR_MONTHS := 2016-01:2016-02
PORT ?= 3000
QUARANTINED := SELECT rule, count(*) FILTER (service = 'yellow') AS yellow, count(*) FILTER (service = 'green') AS green \
    FROM (SELECT 'yellow' AS service, unnest(failed_rules) AS rule FROM tlc_silver.yellow_trips_quarantine \
    UNION ALL SELECT 'green', unnest(failed_rules) FROM tlc_silver.green_trips_quarantine) GROUP BY rule ORDER BY rule
DAGSTER_HOME ?= data/dagster
override DAGSTER_HOME := $(abspath $(DAGSTER_HOME))
export DAGSTER_HOME
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Spark's packages are large, and only needed by those who name it.
READY := $(if $(filter spark,$(TAXI_ENGINE)),.venv/spark,.venv/installed)

.PHONY: demo ui test soak fast lint bench drill clean

# On folders of its own, whatever is exported: made-up months must not get between real ones, nor their runs.
demo: export TAXI_LANDING_ROOT := $(CURDIR)/data/landing
demo: export TAXI_LAKE_ROOT := $(CURDIR)/data/lake
demo: export TAXI_LANDING_STORAGE__PROVIDER := local
demo: export TAXI_LAKE_STORAGE__PROVIDER := local
demo: override export DAGSTER_HOME := $(CURDIR)/data/dagster
demo: $(READY)
	$(BIN)/taxi-assets sample --service yellow --service green 2024-01
	$(BIN)/taxi-assets sample --service yellow --service green --clean 2024-02
	$(BIN)/taxi-assets materialize --service yellow --service green $(DEMO_MONTHS)
	$(BIN)/taxi-assets tables
	$(BIN)/taxi-assets checks --failed 2024-01
	$(BIN)/taxi-assets status $(DEMO_MONTHS)
	@echo "What was quarantined, by the rules that it broke; these faults were planted:"
	@$(BIN)/taxi-assets sql "$(QUARANTINED)"
	$(BIN)/taxi-assets sample --catalog nyctaxi $(STAR_MONTHS) --rows 10000
	$(BIN)/taxi-assets materialize --catalog nyctaxi $(STAR_MONTHS)
	$(BIN)/taxi-assets metrics trips_metrics --measures total_revenue,trip_count,cross_borough_share --by month,time_of_day_order,time_of_day
	@echo "Next: make ui, and open http://127.0.0.1:$(PORT)"

ui: $(READY)
	$(BIN)/python -m taxi_assets.settings
	mkdir -p $(DAGSTER_HOME)
	test -e $(DAGSTER_HOME)/dagster.yaml || cp taxi_assets/dagster.yaml $(DAGSTER_HOME)/
	PYTHONWARNINGS='ignore:Function `dev_command` is superseded' $(BIN)/python -m taxi_assets.webserver.dev -w workspace.yaml -h 127.0.0.1 -p $(PORT)

test: lint .venv/dev
	$(BIN)/pytest -n 2 --dist loadscope

# All rounds of what `make test` does a few of: kills, races of writers, two machines.
soak: export TAXI_SOAK := 1
soak: .venv/dev
	$(BIN)/pytest -m soak

fast: .venv/dev
	$(BIN)/pytest -m fast

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/yamllint --strict .yamllint workspace.yaml taxi_assets/dagster.yaml deploy
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(BIN)/hadolint deploy/Dockerfile

bench: .venv/dev
	$(BIN)/python bench/run.py

drill: $(READY)
	$(BIN)/python drill/run.py

clean:
	rm -rf .venv build *.egg-info data

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint requirements.lock --editable .
	touch $@

.venv/spark: .venv/installed
	$(BIN)/pip install --quiet --constraint requirements.lock --editable .[spark]
	touch $@

.venv/dev: .venv/installed
	$(BIN)/pip install --quiet --constraint requirements.lock --editable .[deploy,dev,spark]
	touch $@
