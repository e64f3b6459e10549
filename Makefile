# dstcc: `make demo` and `make test` do their own set-up; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO ?= demo
ONLY ?=
N ?= 10000
RUNS ?= 100000
POINTS ?= 1000
HASHES ?=
CELLS ?=
COST ?=
STAMP := $(VENV)/.ready
TESTING := $(VENV)/.testing
# Python compiles what is imported, when it is: to compile all takes as long as to install it.
PIP = $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check
CXX_SOURCES = $(sort $(shell find dstcc/engine/src tests/engine/native svc/dstcc_svc/src kernel-cc/coded kernel-cc/dispatch kernel-cc/flows kernel-cc/links kernel-cc/ltp kernel-cc/transfer experiments/trajectories tests/kernel/coded_parts -name '*.[ch]pp'))
NATIVE := setup.py setup.cfg pyproject.toml $(wildcard dstcc/engine/src/*/* tests/engine/native/*) $(wildcard kernel-cc/law/* kernel-cc/dispatch/*) $(wildcard svc/dstcc_svc/src/*)

# pip compiles nothing (above), so each start would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# Our own builds have no warnings; a user's `pip install` may.
export DSTCC_WERROR := 1
# The extension for tests is a third of what there is to compile: the demo is not kept waiting for it.
FOR_TESTS := 0

.PHONY: help setup demo kernel test test-slow test-cluster test-seeds fuzz crash crash-memory sweeps-world test-kernel test-sanitize coverage coverage-engine coverage-python fidelity bench mutants mutants-cpp mutants-generated mutants-generated-python mutants-python held-out lint lint-types lint-style lint-cpp format hashes pip-audit docs wheels figures picture clean
.DEFAULT_GOAL := help

help:            ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## system packages, virtual environment, native build; HASHES=1 lets no file in whose hash is another
$(STAMP): $(NATIVE) scripts/setup-debian.sh requirements/constraints.txt
	scripts/setup-debian.sh
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(if $(HASHES),$(PIP) --no-deps --require-hashes -r requirements/hashes.txt)
	DSTCC_TESTING=$(FOR_TESTS) $(PIP) $(if $(HASHES),--no-build-isolation) -c requirements/constraints.txt -e '.[dev,docs,ephemeris,learn,sweep]'
	touch $@

# Also what tests and benches need; on a clean machine one build makes both.
$(TESTING): FOR_TESTS := 1
$(TESTING): $(STAMP)
	scripts/setup-debian.sh kernel test
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

demo: $(STAMP)   ## encode a real clip, send it from Mars ten times under stock controls and ours, write the report and the video
	scripts/demo.sh $(BIN) $(DEMO)

kernel: $(STAMP) ## the virtual-time kernel, unless the cache has it
	scripts/setup-debian.sh kernel
	$(BIN)/dstcc kernel build

test: $(TESTING) kernel  ## lint, and all tests but the slow ones (`make test-slow`, `make test-kernel`)
	$(MAKE) --jobs=2 --output-sync lint
	$(BIN)/python -m pytest -n 2 --dist worksteal --hypothesis-profile quick -m 'not slow and not kernel and not rest' --dstcc examples --dstcc-allow-extensions

test-slow: $(TESTING)  ## the suites that take longer
	scripts/setup-debian.sh kernel programs
	$(BIN)/python -m pytest -n 2 -m '(slow or rest or hypothesis) and not cluster' --dstcc examples --dstcc-allow-extensions

test-cluster: $(TESTING)  ## sweeps on Slurm's real daemons and on two nodes of Ray, on this machine
	scripts/setup-debian.sh cluster
	$(PIP) -c requirements/constraints.txt -e '.[ray]'
	$(BIN)/python -m pytest -m cluster tests/sweeps

fidelity: kernel ## simulator beside kernel on one grid, into build/fidelity; goes on where it stopped; CELLS="--rtt 1" runs some
	$(BIN)/python -m experiments.fidelity -o build/fidelity $(CELLS)

test-seeds: $(TESTING)  ## N=10000 random trials in every mode, each held to invariants and to the same bytes again (minutes)
	$(BIN)/python -m scripts.simulation -n $(N)

fuzz: $(TESTING)  ## every reader of others' files and packets, RUNS=1000000 inputs each (hours); ONLY="scenario run" some
	$(PIP) -c requirements/constraints.txt 'atheris>=3'
	$(BIN)/python -m scripts.fuzz $(ONLY) --runs $(RUNS)

sweeps-world: $(TESTING)  ## sweeps in a simulated world with faults at every step, N=10000 runs that replay (half an hour)
	$(BIN)/python -m tests.sweeps.world -n $(N)

crash-memory: $(TESTING)  ## the same commands, where an allocation fails in each function (20 minutes); ONLY=TEXT in those
	$(BIN)/python -m tests.crash.points --memory $(if $(ONLY),--at '$(ONLY)') $(if $(filter file,$(origin POINTS)),,-n $(POINTS))

crash: $(TESTING)  ## commands killed, or refused by the disk, at POINTS=1000 random calls of 21 commands (half an hour)
	$(BIN)/python -m tests.crash.points -n $(POINTS)

test-kernel: $(TESTING) kernel  ## all that runs on the virtual-time kernels: 6.12, its debug variant, and 6.1
	$(BIN)/dstcc kernel build --debug
	$(BIN)/dstcc kernel build --kernel 6.1
	$(BIN)/python -m pytest -n 2 tests/kernel
	DSTCC_KERNEL=6.1 $(BIN)/python -m pytest -n 2 tests/kernel -m 'not debug_kernel'

test-sanitize: $(TESTING)  ## the engine's tests on builds with AddressSanitizer, UBSan and ThreadSanitizer
	$(BIN)/python -m scripts.sanitize address
	$(BIN)/python -m scripts.sanitize thread

coverage: coverage-engine coverage-python  ## the share of lines and branches that tests run, by package; fails below its floors

coverage-engine: $(TESTING)  ## of the engine, by its own tests and random trials, on a build of gcc's that counts
	$(PIP) -c requirements/constraints.txt gcovr
	$(BIN)/python -m scripts.coverage_engine

coverage-python: $(TESTING) kernel  ## of Python, by the test suite and what of `make test-kernel` the plain kernel runs
	$(BIN)/python -m pytest -n 2 -m '(not slow or kernel) and not debug_kernel' -k 'not older_kernel and not a_kernel_without_it' \
	  --cov --cov-report=html:build/coverage
	$(BIN)/python -m scripts.coverage_python

bench: $(TESTING)  ## speed figures, each with its ratio; ONLY=NAME runs one
	$(BIN)/python -m bench $(if $(ONLY),--only $(ONLY))

mutants: mutants-cpp mutants-python  ## does a test fail when a rule is wrong? small changes to what decides what a figure says

mutants-cpp: $(TESTING)  ## of the engine; ONLY=PATTERN those whose "FAMILY: NUMBER FILE: NOTE" matches
	$(BIN)/python -m scripts.mutants_cpp $(if $(ONLY),--only '$(ONLY)')

mutants-generated: $(TESTING)  ## N=400 changes of the engine that nobody chose, drawn from its syntax trees; SEED=1, FILES=24 of so many
	$(BIN)/python -m scripts.mutants_generated --count $(if $(filter file,$(origin N)),400,$(N)) $(if $(SEED),--seed $(SEED)) $(if $(FILES),--files $(FILES)) $(if $(NEAR),--near) $(if $(MINUTES),--minutes $(MINUTES))

mutants-generated-python: $(TESTING)  ## N=600 of the Python modules; ONLY=TEXT those whose path holds it, NEAR=1 judges by the tests near them
	$(BIN)/python -m scripts.mutants_generated_python --count $(if $(filter file,$(origin N)),600,$(N)) $(if $(SEED),--seed $(SEED)) $(if $(FILES),--files $(FILES)) $(if $(NEAR),--near) $(if $(ONLY),--only $(ONLY)) $(if $(MINUTES),--minutes $(MINUTES))

mutants-python: $(TESTING)  ## of the Python modules; ONLY=TEXT those whose path holds it
	$(BIN)/python scripts/mutants_python.py $(if $(ONLY),--only $(ONLY))

held-out: $(STAMP)  ## the shipped controller on missions it never saw, beside every algorithm (minutes)
	$(BIN)/python -m experiments.held_out

lint: lint-types lint-style  ## ruff, mypy --strict, clang-format, and who may import whom

lint-types: $(STAMP)
	$(BIN)/mypy

lint-style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(CXX_SOURCES)

lint-cpp: $(TESTING)  ## clang-tidy over the C++ sources (minutes)
	printf '%s\n' $(filter %.cpp,$(CXX_SOURCES)) | xargs -P 2 -I FILE $(BIN)/clang-tidy --quiet FILE -- -std=c++17 \
	  -Idstcc/engine/src -Ikernel-cc/dispatch \
	  -isystem $$($(BIN)/python -c 'import pybind11; print(pybind11.get_include())') \
	  -isystem $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')

format: $(STAMP) ## let ruff and clang-format rewrite the formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_SOURCES)

hashes: $(STAMP) ## requirements/hashes.txt anew, after a change of a pin (needs the network)
	$(PIP) -c requirements/constraints.txt uv
	$(BIN)/python -m scripts.hashes

pip-audit: $(STAMP)  ## the pinned versions against the advisories that are known today (needs the network)
	$(PIP) -c requirements/constraints.txt pip-audit
	$(BIN)/pip-audit --strict --disable-pip --no-deps -r requirements/hashes.txt

docs: $(STAMP)   ## the documentation as a site, build/docs/index.html
	$(BIN)/python scripts/docs_site.py

wheels: $(TESTING)  ## a wheel in build/wheels, and a check of what it holds
	$(BIN)/python scripts/wheels.py

figures: $(TESTING)  ## published tables anew, hours; ONLY="PAGE PAGE#TABLE" some, COST=60 what takes less than a minute
	$(BIN)/python -m scripts.figures $(ONLY) $(if $(COST),--cost $(COST))

picture: $(TESTING) demo  ## regenerate the README's picture from the demo's report
	$(BIN)/python scripts/screenshot.py $(DEMO)/report.html docs/report.png --force

clean:           ## remove what the targets above made, and nothing that you put beside it
	scripts/clean.sh $(VENV) $(DEMO)
