# What this checkout can do. A fresh machine needs Python 3.11 or newer, make and a network.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet --retries 10 --timeout 60 install --no-compile --require-hashes
# By as many processes as there are cores. What cannot be compiled is for another Python.
COMPILE := $(BIN)/python -m compileall -qq -j 0 "$(CURDIR)/$(VENV)/lib" || true

# What a first start waits for: a minute over a quick line, measured on two cores.
HOW_MUCH = $$(grep -c == $(1)) packages, some 400 MB on the disk. It takes one to five minutes, and happens once…

FAILED := Not installed. Is there a network? Behind a proxy set HTTPS_PROXY; for an index of your own PIP_INDEX_URL. Then try again.

.DEFAULT_GOAL := help
.PHONY: help run test check advisories bench chaos eval fidelity site clean pins

help: ## Show this list.
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 16

run: $(VENV)/.installed ## Start Parley with the tour; PROGRAM=file.pb for another program.
	@exec $(BIN)/parley run $(PROGRAM)

test: $(VENV)/.installed-dev ## Run all tests, of long sweeps a part; ALL=1 for the whole sweeps.
	@scripts/install-test-tools.sh
	@$(if $(ALL),TESTS_SAMPLE=all) $(if $(RECORD),TESTS_RECORD=1) $(BIN)/python -m $(if $(TESTS),pytest $(TESTS),tests.whole_run)

check: $(VENV)/.installed-dev ## Format, lint, types, layers, dependencies, and the documentation as a site.
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest tests/architecture/test_dependencies.py
	@$(BIN)/python scripts/build_site.py site

advisories: $(VENV)/.installed ## Ask for known vulnerabilities of the pinned dependencies (needs a network).
	@$(BIN)/python scripts/advisories.py requirements.txt

chaos: $(VENV)/.installed-dev ## Die at every point, then break everything for MINUTES=10 and print what people saw; SEED=1 for a seed alone.
	@$(if $(SEED)$(ROUNDS)$(CHAOS),,TESTS_SAMPLE=all $(BIN)/python -m pytest $$(grep -rlE "^from tests\.(sampling|.*crash_points) import" tests/unit))
	@$(BIN)/python -m tests.chaos --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1) $(if $(ROUNDS),--rounds $(ROUNDS)) $(CHAOS)

bench: $(VENV)/.installed-dev ## Print how fast it is, each figure beside its floor; FULL=1 for the long parts too.
	@$(BIN)/python -m benchmarks $(if $(FULL),--full)

eval: $(VENV)/.installed ## Run 36 small programs on scripted replies; MODEL=… URL=… TIMES=… ONLY=… RESULTS=… for a real model.
	@$(BIN)/python -m evals $(if $(MODEL),--model $(MODEL)) $(if $(URL),--url $(URL)) $(if $(TIMES),--times $(TIMES)) $(if $(ONLY),--only $(ONLY)) $(if $(RESULTS),--results $(RESULTS)) $(EVAL)

fidelity: $(VENV)/.installed-dev ## Print how much of TEXTS=5000 random texts people see as meant, on each platform.
	@$(BIN)/python -m tests.fidelity.measuring $(or $(TEXTS),5000)
	@$(BIN)/python -m tests.fidelity.comparing $(or $(TEXTS),5000)

site: $(VENV)/.installed-dev ## Build the documentation as a site in site/, for any web server.
	@$(BIN)/python scripts/build_site.py site

clean: ## Remove the environment and every cache; state is kept.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

pins: ## Choose the dependencies' versions anew (needs uv).
	uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--python-version 3.11 pyproject.toml -o requirements.txt
	uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--python-version 3.11 --group dev -c requirements.txt pyproject.toml -o requirements-dev.txt

$(VENV)/.installed: requirements.txt scripts/make-environment.sh
	@scripts/make-environment.sh $(PYTHON) $(VENV)
	@echo "Installing what Parley needs: $(call HOW_MUCH,requirements.txt)"
	@$(INSTALL) -r requirements.txt || { echo "$(FAILED)" >&2; exit 1; }
	@$(COMPILE)
	@touch $@

$(VENV)/.installed-dev: requirements.txt requirements-dev.txt scripts/make-environment.sh
	@scripts/make-environment.sh $(PYTHON) $(VENV)
	@echo "Installing what Parley and its tests need: $(call HOW_MUCH,requirements-dev.txt)"
	@$(INSTALL) -r requirements-dev.txt || { echo "$(FAILED)" >&2; exit 1; }
	@touch $(VENV)/.installed $@
