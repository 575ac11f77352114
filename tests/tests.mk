# SPDX-License-Identifier: Apache-2.0
# Checks, included by the Makefile.  PYTHONS are the torches that the tests use.

venv     := $(BUILD)/venv/bin/python
PYTHONS  ?= $(venv) /usr/bin/python3
run      := BUILD=$(BUILD) $(if $(SAN),PATIENCE=9) tests/run.sh
ready    := $(MAKE) --no-print-directory

# A run is "script arguments", one word to run.sh.
unit_runs  = $(tests)
lint_runs  = $(wildcard tests/lint/*.sh)
e2e_runs   = $(wildcard tests/e2e/*.sh tests/e2e/test_*.py)
torch_runs = 'tests/fidelity/check_cpp.sh system' 'tests/fidelity/check_cpp.sh venv' \
	'$(venv) tests/fidelity/schedule_property.py $(BUILD)/prog/schedule_at' \
	$(foreach python,$(PYTHONS),$(foreach prog,$(wildcard tests/fidelity/progs/*.py), \
	'tests/fidelity/check.sh $(python) $(prog)'))
cxx_progs = $(patsubst tests/prog/%.cc,$(BUILD)/prog/%,$(wildcard tests/prog/*.cc))
.PHONY: check-full built-check built-readers
include tests/fake/fake.mk
include tests/heap/heap.mk

setup: ## install what building and testing need and this machine lacks
	$(Q)tests/setup.sh build test

demo: ## from a bare machine to traces of examples/train.py
	$(Q)tests/setup.sh build
	$(Q)$(ready) all
	$(Q)tests/demo.sh

demo-gpu: ## the same for a CUDA program, on a synthetic GPU where there is none
	$(Q)tests/setup.sh build python3 python3-venv
	$(Q)$(ready) all $(BUILD)/fake/run-13.0/done
	$(Q)tests/demo_gpu.sh

check: setup ## install what is missing, build, test: what must pass before anything lands
	$(Q)$(ready) built-check

# What takes more than the twenty minutes of `make check`, or leans on load, clock and chance.
check-full: setup ## everything: every test, readers, torch versions, sanitizers, fuzzers; hours
	$(Q)FULL=1 $(ready) built-check
	$(Q)FULL=1 $(ready) built-readers
	$(Q)$(ready) SAN=address,undefined check-unit
	$(Q)$(ready) SAN=thread check-unit
	$(Q)$(ready) check-matrix
	$(Q)$(ready) fuzz

built-check: all $(tests) $(progs) $(cxx_progs) fake heap
	$(Q)$(run) $(lint_runs) $(unit_runs) $(e2e_runs) $(torch_runs)

check-unit: all $(tests) fake ## Check suites
	$(Q)$(run) $(unit_runs)

check-e2e: all $(progs) $(cxx_progs) fake heap ## real programs under the launcher
	$(Q)$(run) $(e2e_runs)

check-torch: all $(progs) ## fidelity: our traces against torch.profiler's, event by event
	$(Q)$(run) $(torch_runs)

check-readers: setup ## TensorBoard, HTA, Perfetto and chrome://tracing on our files
	$(Q)$(ready) built-readers

built-readers: all fake $(BUILD)/prog/cuda_work
	$(Q)$(run) $(wildcard tests/readers/check_*.sh)

check-matrix: setup ## torch tests on other torch versions; see docs/measured/matrix.md
	$(Q)$(ready) all
	$(Q)BUILD=$(BUILD) tests/matrix.sh && BUILD=$(BUILD) tests/matrix_cuda.sh

lint: all ## layers, exports, banned calls, sizes, format, what the binary asks for
	$(Q)$(run) $(lint_runs)

bench: all $(progs) $(BUILD)/fake/run-13.0/done heap ## what recording costs; the table of the README
	$(Q)tests/bench/run.sh

check-gpu: all ## on a machine with an NVIDIA GPU; leaves a folder of results
	$(Q)BUILD=$(BUILD) tests/gpu/run

fuzz: all $(cxx_progs) ## hostile configuration lines, names and spools
	$(Q)BUILD=$(BUILD) tests/fuzz/run.sh

# C++ programs, on the system's libtorch.
$(BUILD)/prog/%: tests/prog/%.cc
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CXX) -O1 -g -Wall -pthread -rdynamic -o $@ $< -ltorch_cpu -lc10
