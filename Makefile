# Everything a fresh machine needs to try, test and measure Recollect: Python >= 3.11, make and git are enough.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
WEIGHTS := .cache/models/all-MiniLM-L6-v2
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test quick lint soak bench docs pictures clean

help:  ## what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(READY)

$(WEIGHTS)/model.safetensors: | $(READY)
	$(BIN)/recollect model install --to $(WEIGHTS)

demo: $(READY) $(WEIGHTS)/model.safetensors  ## install, then remember and recall on sample sessions
	$(BIN)/recollect demo --model-dir $(WEIGHTS)

# The hash seed is fixed so that every worker collects the same tests; a file's tests stay together, in the order that
# tests/conftest.py gives (the long ones first). Two workers more than there are processors: part of it is waiting.
# Files are made in memory where there is room: tests kill processes, never the machine, and a disk doubles their time.
# What was compiled is kept, whatever the shell says: else every process that a test starts compiles all it imports again.
WORKERS := $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 2)")
MEMORY := $(shell $(PYTHON) -c "import shutil; print('PYTEST_DEBUG_TEMPROOT=/dev/shm' * (shutil.disk_usage('/dev/shm').free > 6e9))" 2>/dev/null)
TESTING := PYTHONDONTWRITEBYTECODE= PYTHONHASHSEED=0 $(MEMORY) $(BIN)/python -m pytest -q

test: lint $(WEIGHTS)/model.safetensors  ## everything
	$(TESTING) -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not soak"

quick: $(READY)  ## what runs in about a minute: parts, the SQLite store, the shape of the house; no servers
	$(TESTING) -n auto -m "not slow and not soak" -k "not postgres" tests/unit tests/contract tests/guards

lint: $(READY)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

soak: $(READY) $(WEIGHTS)/model.safetensors  ## the long faults and loads
	$(BIN)/python -m pytest -m soak

bench: $(READY) $(WEIGHTS)/model.safetensors  ## speed on this machine; quality needs data, see docs/benchmarks.md
	$(BIN)/python bench/latency.py

docs: $(READY)  ## write the generated parts of docs/ again
	$(BIN)/python tools/write_reference.py

pictures: $(READY)  ## take the pictures of every page again; needs a browser
	$(BIN)/python tools/write_pictures.py

clean:  ## remove what was made here
	rm -rf $(VENV) .cache build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
