# `make demo` and `make test` need only Python 3.11 and make: they build .venv themselves.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test fast lint bench peers reproduce clean

demo: .venv/installed-demo
	$(BIN)/python -m likewise demo

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

fast: .venv/installed-test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not browser"

lint: .venv/installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/installed-test
	$(BIN)/python benchmarks/speed.py

# metric-learn needs an older scikit-learn than likewise: it lives in .venv-peers.
peers: .venv/installed-test
	$(BIN)/python -m likewise.experiments.peers

reproduce: .venv/installed-test
	$(BIN)/likewise reproduce all --docs docs

clean:
	rm -rf .venv .venv-peers .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build

.venv/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'likewise needs Python 3.11 or newer. Name one with: make PYTHON=...')"
	$(PYTHON) -m venv .venv

.venv/installed-demo: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

.venv/installed-test: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[all,test]'
	touch $@
