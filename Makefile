# Every target sets itself up: `make test` and `make run` work on a fresh clone with Python (3.11 to 3.14) and make.
PYTHON ?= $(or $(shell scripts/find-python),python3.11)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# What the packages take, torch above all; torch wheels with CUDA take more.
NEEDED_MB := 3000

# Many small matrices: one BLAS thread per process beats several that fight over the cores.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: install test lint run bench clean

install: $(READY)

$(READY): pyproject.toml constraints.txt client/pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Tripod needs Python 3.11, 3.12, 3.13 or 3.14 with venv: '$(PYTHON)' was not found. Install it, or name yours: make PYTHON=/path/to/python" >&2; exit 1; }
	@df -Pm . | awk 'NR == 2 && $$4 < $(NEEDED_MB) { print "Tripod needs $(NEEDED_MB) MB of free disk for its packages, and " $$4 " MB are left: make room first." > "/dev/stderr"; exit 1 }'
	@echo "Installing Tripod's packages into $(VENV): this takes some minutes, once."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[train,demo,dev]' --editable ./client
	@touch $@

# Options go into ARGS: make run ARGS='--port 8001'
run: install
	@$(BIN)/python -m scripts.run $(ARGS)

test: install
	@$(BIN)/python -m scripts.browser
	$(BIN)/pytest -n 2 --dist loadgroup

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: install
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.inference

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
