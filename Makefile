# Everything happens in .venv; only python3 (3.11 or newer), make and a network are needed.
#   make demo    make test    make help

PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint format bench docs clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.installed-demo  ## set up, then fit Ripley's problem and draw the result
	$(BIN)/sdgm demo --force

# One BLAS thread per worker, unless the caller says otherwise.
test test-all: export OMP_NUM_THREADS ?= 1
test test-all: export MPLBACKEND ?= Agg
# without it scikit-learn skips a check of ours
test test-all: export SCIPY_ARRAY_API ?= 1

test: lint  ## set up, then run linter, type checker and all tests but the slow ones
	$(BIN)/pytest -q -n $(WORKERS) -m "not slow"

test-all: lint  ## the same with the slow tests
	$(BIN)/pytest -q -n $(WORKERS)

lint: $(VENV)/.installed-test  ## linter, formatting and type checker
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.installed-test  ## format the code and apply the linter's safe fixes
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.installed-bench  ## set up, then time sdgm against its peers
	for name in peers prediction growth; do $(BIN)/python -m benchmarks $$name || exit 1; done

docs: $(VENV)/.installed-docs  ## set up, then build the documentation into site/
	$(BIN)/zensical build --clean --strict
	$(BIN)/python tools/check_site.py site
	@echo "open site/index.html"

clean:  ## remove .venv, caches and builds
	rm -rf $(VENV) build dist site .cache .nox .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src reproduction tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up, done once: a stamp file in .venv stands for each set of installed packages.

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "sdgm needs Python 3.11 or newer; try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# dependency groups are new in pip 25.1
$(VENV)/.new-pip: $(VENV)/.created
	$(BIN)/python -m pip install -qq --disable-pip-version-check 'pip>=25.1'
	@touch $@

$(VENV)/.installed-demo: $(VENV)/.new-pip pyproject.toml constraints.txt
	$(PIP_INSTALL) -e '.[cli,plot]'
	@touch $@

$(VENV)/.installed-test: $(VENV)/.new-pip pyproject.toml constraints.txt
	$(PIP_INSTALL) -e '.[all]' --group dev
	@touch $(VENV)/.installed-demo $@

$(VENV)/.installed-bench: $(VENV)/.new-pip pyproject.toml constraints.txt
	$(PIP_INSTALL) -e '.[cli,plot,torch,dask]' --group bench
	@touch $(VENV)/.installed-demo $@

$(VENV)/.installed-docs: $(VENV)/.new-pip pyproject.toml constraints.txt
	$(PIP_INSTALL) --group docs
	@touch $@
