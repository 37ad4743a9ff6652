# One-screen list of what can be done here. Every target makes .venv by itself and uses it again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?= ../shared/data
# Many tests wait for git, a disk or a killed process. One worker more than there are processors uses that time.
WORKERS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
# Processes that the tests and the demo start would compile every module again without the bytecode.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test torture hosts frameworks browser lint fix bench docs lock clean

demo: $(VENV)/.ready           ## make an agent home, import and close two conversations, assemble a prompt
	$(BIN)/python -m bench.demo demo-home

test: $(VENV)/.ready           ## every test, warnings are errors
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

torture: $(VENV)/.ready        ## kills, full disks, power cuts, a person's git, two machines, three hosts: 95 minutes; ARGS="hosts --seed 7"
	$(BIN)/python -m tests.torture $(ARGS)

hosts: $(VENV)/.ready .hosts/.ready  ## the real Claude Code, Codex and Gemini CLI with our hooks; needs npm
	$(BIN)/python -m tests.hosts $(ARGS)

frameworks: .venv-frameworks/.ready  ## the adapters with the real LangGraph, OpenAI Agents, Google ADK, Hermes and mem0
	.venv-frameworks/bin/python -m pytest -n auto --dist loadgroup tests/frameworks $(ARGS)

browser: $(VENV)/.browser .axe/.ready  ## the page in headless Chromium, and its screenshots; needs npm and the package chromium
	$(BIN)/python -m pytest tests/browser $(ARGS)

lint: $(VENV)/.ready           ## ruff, mypy strict, docstrings, generated help in docs is current
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m bench.style --check
	$(BIN)/python -m bench.measure.rule_tables --check
	$(BIN)/cog --check docs/*.md README.md

fix: $(VENV)/.ready            ## what ruff can mend by itself, and the generated docs
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python -m bench.measure.rule_tables
	$(BIN)/cog -r docs/*.md README.md

bench: $(VENV)/.bench          ## every measurement beside its baseline; DATA=folder of evaluation data
	$(BIN)/python -m bench --data $(DATA)

docs: $(VENV)/.bench           ## regenerate help texts and tables in docs/
	$(BIN)/cog -r docs/*.md README.md

lock: $(BIN)/uv                ## pin every package by version and hash, without addresses
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  pyproject.toml --extra model --group dev --output-file requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  pyproject.toml --extra model --group dev --group bench --output-file requirements-bench.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  pyproject.toml --extra model --group frameworks --output-file requirements-frameworks.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  pyproject.toml --extra model --group browser --output-file requirements-browser.lock

# In an environment of its own: the frameworks are large, and `make test` must pass without them.
.venv-frameworks/.ready: requirements-frameworks.lock pyproject.toml | $(BIN)/uv
	$(PYTHON) -m venv .venv-frameworks
	$(BIN)/uv pip install --quiet --compile-bytecode --python .venv-frameworks/bin/python --require-hashes \
	  -r requirements-frameworks.lock
	$(BIN)/uv pip install --quiet --python .venv-frameworks/bin/python --no-deps -e .
	touch $@

# Programs of the chat hosts, for `make hosts` alone. Nothing of them is shipped.
.hosts/.ready: tests/hosts/package.json
	mkdir -p .hosts && cp tests/hosts/package.json .hosts/
	cd .hosts && npm install --no-audit --no-fund --silent
	touch $@

# Accessibility rules, for `make browser` alone. Nothing of them is shipped.
.axe/.ready: tests/browser/package.json
	mkdir -p .axe && cp tests/browser/package.json .axe/
	cd .axe && npm install --no-audit --no-fund --silent
	touch $@

clean:
	rm -rf $(VENV) .venv-frameworks .hosts .axe demo-home build dist *.egg-info .mypy_cache .ruff_cache .hypothesis

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

$(VENV)/.ready: requirements.lock pyproject.toml | $(BIN)/uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e .
	touch $@

$(VENV)/.bench: requirements-bench.lock $(VENV)/.ready
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements-bench.lock
	touch $@

$(VENV)/.browser: requirements-browser.lock $(VENV)/.ready
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements-browser.lock
	touch $@
