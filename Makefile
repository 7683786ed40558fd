# `make test` sets up everything it needs, once; `make app` comes with the app.
PYTHON ?= python3
BIN := .venv/bin
CDMD_DATA ?= $(wildcard data/eval)
export CDMD_DATA

.PHONY: test lint export long-test clean

$(BIN)/.installed: requirements.txt tests/requirements.txt settings.ini setup.py
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check $$(grep '^torch==' requirements.txt)
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt -r tests/requirements.txt
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check --no-deps -e .
	touch $@

test: $(BIN)/.installed lint
	$(BIN)/python tests/check_notebooks.py
	OMP_NUM_THREADS=1 $(BIN)/nbdev_test --n_workers 2 --do_print
	$(BIN)/pytest -n 2

lint: $(BIN)/.installed
	$(BIN)/ruff check cdmd_nb tests benchmarks

export: $(BIN)/.installed
	$(BIN)/nbdev_export
	$(BIN)/nbdev_clean

long-test: $(BIN)/.installed
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -n 2 -m "slow or not slow"

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
