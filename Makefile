# make demo   read the sample images        make test   run every test
# make check  format, lint, types, fast tests            make clean  forget the environment
# make lock   write the tests' exact versions into constraints.txt
# make fuzz   attack every parser for SECONDS=60 each

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

export NO_ALBUMENTATIONS_UPDATE := 1

.PHONY: demo test check fuzz format lock clean
.DEFAULT_GOAL := demo

demo: .venv/reading
	$(BIN)/unrender read examples

test: .venv/testing
	.ci/packages
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: .venv/testing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow"

fuzz: .venv/testing
	-$(PIP) atheris # guides by coverage; where it does not install, hypothesis mutates
	$(BIN)/python tests/fuzz.py --seconds $(or $(SECONDS),60)

format: .venv/testing
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Resolve the newest versions that pyproject.toml allows, and write them down.
lock: | $(BIN)/python
	$(PIP) --dry-run --ignore-installed --report .venv/report.json '.[dev]'
	.ci/lock < .venv/report.json > constraints.txt

clean:
	rm -rf .venv build dist

# A stamp is newer than what it was made from, so a second call installs nothing.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "unrender needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/reading: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

.venv/testing: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -c constraints.txt --editable '.[dev]'
	$(PIP) -c constraints.txt --force-reinstall --no-deps opencv-python-headless # over rapidocr's build, which needs a display's libraries
	@touch $@ .venv/reading
