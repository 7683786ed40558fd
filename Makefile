# `make test` sets up everything it needs, once; `make app` opens the app.
PYTHON ?= python3
BIN := .venv/bin
CDMD_DATA ?= $(wildcard data/eval)
export CDMD_DATA

.PHONY: test lint export long-test app browser screenshot clean

$(BIN)/.installed: requirements.txt tests/requirements.txt settings.ini setup.py
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check $$(grep '^torch==' requirements.txt)
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt -r tests/requirements.txt
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check --no-deps -e .
	touch $@

test: $(BIN)/.installed lint browser
	$(BIN)/python tests/check_notebooks.py
	OMP_NUM_THREADS=1 $(BIN)/nbdev_test --n_workers 2 --do_print
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal || { test $$? = 1 && echo "What failed gets a second try, alone." && OMP_NUM_THREADS=1 $(BIN)/pytest --last-failed --last-failed-no-failures none; }

lint: $(BIN)/.installed
	$(BIN)/ruff check cdmd_nb tests benchmarks app.py

export: $(BIN)/.installed
	$(BIN)/nbdev_export
	$(BIN)/nbdev_clean

long-test: $(BIN)/.installed browser
	OMP_NUM_THREADS=1 HYPOTHESIS_PROFILE=long $(BIN)/pytest -n 2 --dist worksteal -m "slow or not slow"

app: $(BIN)/.installed
	@echo "The app will be at http://$${GRADIO_SERVER_NAME:-127.0.0.1}:$${GRADIO_SERVER_PORT:-7860}"
	CDMD_OPEN=1 GRADIO_SERVER_PORT=$${GRADIO_SERVER_PORT:-7860} $(BIN)/python app.py

# Chromium for the browser tests, where one may install it; elsewhere they say what is missing and are skipped.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } || \
	echo "There is no Chromium, and it cannot be installed here: the browser tests will be skipped."

# The picture in the README: a minute of training on the first example.
screenshot: $(BIN)/.installed browser
	CDMD_SCREENSHOT=nbs/images/compare.png $(BIN)/pytest -m "slow or not slow" tests/test_browser.py -k first_click

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
