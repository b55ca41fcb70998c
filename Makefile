# Everything runs in the virtual environment .venv, which is created on first use. `make run` installs the base
# dependencies alone (seconds); every other target installs the development environment as well (minutes).
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
BASE := .venv/.base
DEV := .venv/.dev
CODE := $(wildcard src tests examples benchmarks docs proofs)

.PHONY: run test lint bench theorems architecture command-line gallery passes-plots lab-page pages docs dist check-long clean

run: $(BASE)  ## compile a model, run it, prove it correct
	@$(BIN)/python examples/first_look.py

test: lint  ## the linter, the type checker, and every test that is not marked long
	$(BIN)/pytest -n 2 --dist loadfile -m "not long"

lint: $(DEV)
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ty check --error-on-warning

bench: $(DEV)  ## measure and write benchmarks/results.json
	$(BIN)/python benchmarks/bench.py

theorems: $(DEV)  ## run every check of the paper and write docs/paper/items.md
	$(BIN)/python -m unmask.paper .

architecture: $(DEV)  ## write the pages about imports and about what a proof trusts, from the code
	$(BIN)/python docs/generate/architecture.py

command-line: $(DEV)  ## write docs/reference/command-line.md from the commands
	$(BIN)/python docs/generate/command_line_page.py

gallery: $(DEV)  ## write the page of example programs: code, runs and sizes
	$(BIN)/python docs/generate/gallery_page.py

passes-plots: $(DEV)  ## write the plots of docs/background/passes.md
	$(BIN)/python docs/generate/passes_plots.py

lab-page: $(DEV)  ## write docs/lab/index.md, docs/lab/tables.md and their plots from docs/lab/results.json
	$(BIN)/python docs/generate/lab_page.py

pages: $(DEV)  ## run the commands of all pages and update the output that they show
	$(BIN)/python docs/generate/console_output.py

docs: $(DEV)  ## build the documentation site in site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(DEV)  ## build a wheel and an sdist, and try them in an empty environment
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python tests/distribution.py dist

check-long: $(DEV)  ## the tests that take minutes
	$(BIN)/pytest -n 2 -m long

.PHONY: rocq coqc
rocq: coqc $(DEV)  ## check the proofs in proofs/ with Rocq, and compare them with compiled weights
	$(BIN)/python proofs/check.py
	$(BIN)/python proofs/definitions.py
	$(BIN)/python proofs/conversions.py
	$(BIN)/python proofs/shipped.py

coqc:
	@command -v coqc >/dev/null || { echo "make rocq needs coqc: install the Debian package coq (apt-get install coq)" >&2; exit 1; }

PIP := $(BIN)/pip install --quiet --disable-pip-version-check

$(BASE): pyproject.toml
	@echo "installing unmask into .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) -e .
	@touch $@

$(DEV): pyproject.toml constraints-dev.txt
	@echo "installing the development environment into .venv (torch and more: a few minutes)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) -c constraints-dev.txt -e '.[dev]'
	@touch $(BASE) $@

clean:
	rm -rf .venv build dist site
