# Ringtail's front door. `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory

BUILD ?= build
BUILD_TYPE ?= Release
JOBS ?= $(shell nproc)
PYTHON ?= /usr/bin/python3
# What `make run` passes on: make run ARGS="--amqp-port 5673"
ARGS ?=
# The broker that `make conformance AGAINST=rabbitmq` speaks to.
URL ?= amqp://guest:guest@127.0.0.1:5672
# And its HTTP API: without it the cases that need one are skipped.
MANAGEMENT ?=
# `make sim SEED=n` runs everything in the simulator with that seed alone.
SEED ?=
# How long `make fuzz` runs each target.
SECONDS ?= 60
CMAKE_FLAGS ?=

SANITIZED := BUILD_TYPE=Debug
CPP_FILES = $(shell find broker cluster gm queue tests tools -name '*.cc' -o -name '*.h' 2>/dev/null)

.PHONY: all run cluster test unit lint fmt asan tsan fuzz bench deps conformance sim model clean help \
  configure programs everything

all: ## build build/ringtail and build/ringtail-perf (release)
	@tools/deps.sh --check build
	@$(MAKE) programs

run: ## install what the build lacks, build, start a node on this machine (ARGS="--help")
	@tools/deps.sh build
	@$(MAKE) programs
	@exec $(BUILD)/ringtail $(ARGS)

cluster: ## three nodes on this machine, to play with (Ctrl-C stops them; run again: starts those that do not run)
	@tools/deps.sh --check build
	@$(MAKE) programs
	@exec tools/cluster.sh $(BUILD)/ringtail

test: ## everything that CI runs: lint, unit, simulation, fuzz corpora, real clients
	@tools/deps.sh test
	@$(MAKE) everything
	@$(PYTHON) tests/run_all.py --build $(BUILD)

unit: ## the one-minute part of the tests: lint and unit tests
	@tools/deps.sh --check build
	@$(MAKE) configure
	@cmake --build $(BUILD) -j $(JOBS) --target unit_tests
	@$(PYTHON) tests/run_all.py --build $(BUILD) --only lint,unit

lint: ## layers, sizes, banned words, formatting, documentation
	@status=0; \
	$(PYTHON) tools/lint_layers.py || status=1; \
	$(PYTHON) tools/lint_style.py || status=1; \
	exit $$status

fmt: ## format the C++ files
	@clang-format -i $(CPP_FILES)

asan: ## the whole test set under AddressSanitizer and UBSan
	@$(MAKE) test BUILD=build-asan $(SANITIZED) CMAKE_FLAGS=-DRINGTAIL_SANITIZE=address

tsan: ## the whole test set under ThreadSanitizer
	@$(MAKE) test BUILD=build-tsan $(SANITIZED) CMAKE_FLAGS=-DRINGTAIL_SANITIZE=thread

fuzz: ## libFuzzer under ASan and UBSan over each target (SECONDS=60 each)
	@tools/deps.sh fuzz
	@$(MAKE) configure BUILD=build-fuzz $(SANITIZED) \
	  CMAKE_FLAGS="-DCMAKE_CXX_COMPILER=clang++ -DRINGTAIL_FUZZ=ON -DRINGTAIL_SANITIZE=address"
	@cmake --build build-fuzz -j $(JOBS) --target fuzz_targets
	@tools/fuzz.sh build-fuzz $(SECONDS)

bench: ## build and run the benchmarks of tests/bench
	@tools/deps.sh --check build
	@$(MAKE) configure
	@cmake --build $(BUILD) -j $(JOBS) --target bench_programs
	@for program in $(BUILD)/*_bench; do \
	  if [ -x "$$program" ]; then echo "== $$(basename $$program)"; "$$program" || exit 1; fi; \
	done

conformance: ## real clients against a node (AGAINST=rabbitmq [URL=] [MANAGEMENT=]: the referee)
	@tools/deps.sh test
ifdef AGAINST
	@$(PYTHON) tests/conformance/run.py --against $(AGAINST) --url $(URL) \
	  --management "$(MANAGEMENT)" --build-dir $(BUILD)
else
	@$(MAKE) programs
	@$(PYTHON) tests/conformance/run.py --broker-binary $(BUILD)/ringtail --build-dir $(BUILD)
endif

sim: ## whole nodes under the simulator, with ten times the seeds, or one (SEED=n)
	@tools/deps.sh --check build
	@$(MAKE) configure
	@cmake --build $(BUILD) -j $(JOBS) --target sim_programs
	@$(if $(SEED),RINGTAIL_SIM_SEED=$(SEED) RINGTAIL_SIM_FACTOR=0,RINGTAIL_SIM_FACTOR=10) \
	  $(PYTHON) tests/run_all.py --build $(BUILD) --only sim

model: ## every state of a model of the ring of gm/, with spin, and of broken ones
	@tools/deps.sh model
	@$(PYTHON) gm/model/check.py $(BUILD)/model

deps: ## install the Debian packages that building and testing need
	@tools/deps.sh test

clean: ## remove all build directories
	rm -rf build build-*

help: ## this list
	@sed -n 's/^\([a-z]*\): ## /\1|/p' Makefile | \
	  while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

# --- steps of the above ---

configure:
	@if [ ! -f $(BUILD)/Makefile ]; then \
	  cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) $(CMAKE_FLAGS); fi

programs: configure
	@cmake --build $(BUILD) -j $(JOBS) --target programs

everything: configure
	@cmake --build $(BUILD) -j $(JOBS)
