# Everything runs from a virtual environment in this folder, made on first use.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/.installed
CODE := $(wildcard src tests examples benchmarks docs proofs)

.PHONY: run test lint bench theorems architecture gallery lab-page docs dist check-long clean

run: $(INSTALLED)  ## compile a model, run it, show what happened
	$(BIN)/python examples/first_look.py

test: lint  ## lint, types, every test that is not marked long
	$(BIN)/pytest -n 2 --dist loadfile -m "not long"

lint: $(INSTALLED)
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ty check --error-on-warning

bench: $(INSTALLED)  ## measure, and write benchmarks/results.json
	$(BIN)/python benchmarks/bench.py

theorems: $(INSTALLED)  ## run every check of the paper, and write docs/paper/items.md
	$(BIN)/python -m unmask.paper .

architecture: $(INSTALLED)  ## what the pages say of imports and of what a proof trusts, from the code
	$(BIN)/python docs/generate/architecture.py

gallery: $(INSTALLED)  ## the page of programs: code, runs, and what they take
	$(BIN)/python docs/generate/gallery_page.py

lab-page: $(INSTALLED)  ## docs/lab/index.md and its plots from docs/lab/results.json
	$(BIN)/python docs/generate/lab_page.py

docs: $(INSTALLED)  ## the documentation as a site, in site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(INSTALLED)  ## a wheel and an sdist, tried in an empty environment
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python tests/distribution.py dist

check-long: $(INSTALLED)  ## the tests that take minutes
	$(BIN)/pytest -n 2 -m long

.PHONY: rocq coqc
rocq: coqc $(INSTALLED)  ## the proofs in proofs/, by the kernel of Rocq, and what they say about compiled weights
	$(BIN)/python proofs/check.py
	$(BIN)/python proofs/definitions.py
	$(BIN)/python proofs/shipped.py

coqc:
	@command -v coqc >/dev/null || { echo "make rocq needs coqc: install the Debian package coq (apt-get install coq)" >&2; exit 1; }

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist site
