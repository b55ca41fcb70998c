# Everything runs from a virtual environment in this folder, made on first use.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: run test lint bench check-long clean

run: $(INSTALLED)  ## compile a model, run it, show what happened
	$(BIN)/python examples/first_look.py

test: lint  ## lint, types, every test that is not marked long
	$(BIN)/pytest -n 2 -m "not long"

lint: $(INSTALLED)
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/ruff format --check src tests examples benchmarks
	$(BIN)/ty check --error-on-warning

bench: $(INSTALLED)  ## measure, and write benchmarks/results.json
	$(BIN)/python benchmarks/bench.py

check-long: $(INSTALLED)  ## the tests that take minutes
	$(BIN)/pytest -n 2 -m long

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist
