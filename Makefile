# Every target installs what it needs: `make test` and `make run` work on a fresh clone with make and Python 3.11 to 3.14.
PYTHON ?= $(or $(shell scripts/find-python),python3.11)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Disk space for the packages, most of it for torch; torch wheels with CUDA need more.
NEEDED_MB := 3000
# The tests of a file run in one process: they share what the file starts. (pytest 9.2 ignores groups of xdist.)
PYTEST := $(BIN)/pytest -n 2 --dist loadfile

# One BLAS thread per process: on many small matrices several threads only compete for the cores.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help install run test test-fast test-slow coverage lint docs openapi-diff image bench clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(READY)  ## Install all packages into .venv

$(READY): pyproject.toml constraints.txt client/pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Tripod needs Python 3.11, 3.12, 3.13 or 3.14 with venv: '$(PYTHON)' was not found. Install it, or name yours: make PYTHON=/path/to/python" >&2; exit 1; }
	@df -Pm . | awk 'NR == 2 && $$4 < $(NEEDED_MB) { print "Tripod needs $(NEEDED_MB) MB of free disk for its packages, and " $$4 " MB are left: make room first." > "/dev/stderr"; exit 1 }'
	@echo "Installing packages into $(VENV). This takes a few minutes, once."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[train,demo,dev]' --editable ./client
	@touch $@

run: install  ## Train a demo model and serve it; options: make run ARGS='--port 8001'
	@$(BIN)/python -m scripts.run $(ARGS)

test: install  ## Run all tests but the slow ones
	@$(BIN)/python -m scripts.browser
	$(PYTEST)

test-fast: install  ## Run the tests that start no process and train no whole model (under a minute)
	$(PYTEST) --fast -rfE

test-slow: install  ## Run the slow tests only
	$(PYTEST) --slow

coverage: install  ## Run all tests but the slow ones, measure branch coverage, write it into README.md
	@$(BIN)/python -m scripts.browser
	$(BIN)/python -m scripts.coverage_figures

lint: install  ## Check style, types and workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet .github

docs: install  ## Check that links of the documents resolve and their commands work
	$(BIN)/python -m scripts.links
	$(PYTEST) tests/test_readme.py

openapi-diff: install  ## Compare the OpenAPI document with the last release's
	$(BIN)/python -m scripts.openapi_diff

image:  ## Build the serving image
	docker build --target serve --tag tripod-serve .

bench: install  ## Measure speed and memory of training and inference
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.inference

clean:  ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage*
