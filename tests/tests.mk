# SPDX-License-Identifier: Apache-2.0
# Checks, included by the Makefile.  PYTHONS are the torches that the tests use.

venv     := $(BUILD)/venv/bin/python
PYTHONS  ?= $(venv) /usr/bin/python3
# What a test builds is not of these jobs.
run      := BUILD=$(BUILD) MAKEFLAGS= $(if $(SAN),PATIENCE=9) tests/run.sh
ready    := $(MAKE) --no-print-directory
# A build has all processors, unless whoever calls make says how many.
all_jobs  = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

$(tests:$(BUILD)/%=$(BUILD)/unit/tests/unit/%.o): | $(BUILD)/needs.unit

# A run is "script arguments", one word to run.sh.
unit_runs  = $(tests)
lint_runs  = $(wildcard tests/lint/*.sh)
e2e_runs   = $(wildcard tests/e2e/*.sh tests/e2e/test_*.py)
# Programs that the older torch of Debian runs in `make check`; the newer one has all but the slowest.
fidelity  := $(wildcard tests/fidelity/progs/*.py)
old_torch := $(addprefix tests/fidelity/progs/,annotations.py cnn.py dataloader.py ddp_gloo.py \
	lstm.py nested.py threads.py torchscript.py transformer.py zoo.py)
of_torch   = $(if $(FULL),$(fidelity),$(if $(findstring venv,$1),$(filter-out %/compile.py,$(fidelity)),$(old_torch)))
torch_runs = 'tests/fidelity/check_cpp.sh system' 'tests/fidelity/check_cpp.sh venv' \
	'$(venv) tests/fidelity/schedule_property.py $(BUILD)/prog/schedule_at' \
	$(foreach python,$(PYTHONS),$(foreach prog,$(call of_torch,$(python)), \
	'tests/fidelity/check.sh $(python) $(prog)'))
mutants_try := tests/mutants/try.sh
.PHONY: check-full bench-advice docs picture mutants mutants-base coverage journeys built-journeys built-check built-readers built-host check-host
# A program with holes between its segments, as one in fourteen of a system is.
$(BUILD)/test_unwind_peer: override LDFLAGS += -Wl,-z,separate-code -Wl,-z,max-page-size=0x200000
# What is assembled, in a program of its own: the test plays all that it calls.
$(BUILD)/test_entry: $(BUILD)/unit/tests/unit/test_entry.o $(BUILD)/unit/agent/cuda/entry.o
$(BUILD)/test_jump: $(BUILD)/unit/tests/unit/test_jump.o $(BUILD)/unit/agent/hooks/jump.o
$(BUILD)/test_entry $(BUILD)/test_jump:
	$(call say,LINK,$@)$(CC) $(san) -pthread -o $@ $^ $(LDFLAGS) $(shell pkg-config --libs check)
$(BUILD)/unit/agent/hooks/jump.o: flags += -Ddlsym=jump_dlsym
# A program that begins as the launcher does.
$(BUILD)/test_old_libc: $(BUILD)/unit/tests/unit/test_old_libc.o $(if $(SAN),,$(BUILD)/unit/launcher/old_libc.o $(BUILD)/unit/launcher/start.o)
	$(call say,LINK,$@)$(CC) $(san) -pthread -o $@ $(if $(SAN),,$(start_l)) $^ $(LDFLAGS) $(shell pkg-config --libs check) $(if $(SAN),,$(end_l))
include tests/fake/fake.mk
include tests/programs/programs.mk
include tests/host/host.mk

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
	+$(Q)$(ready) $(all_jobs) built-check

# What takes more than the twenty minutes of `make check`, or leans on load, clock and chance.
check-full: setup ## everything: every test, readers, torch versions, sanitizers, fuzzers; hours
	+$(Q)FULL=1 $(ready) $(all_jobs) built-check
	+$(Q)FULL=1 $(ready) $(all_jobs) built-readers
	$(Q)$(ready) check-host
	$(Q)$(ready) SAN=address,undefined check-unit
	$(Q)$(ready) SAN=thread check-unit
	$(Q)$(ready) check-matrix
	$(Q)$(ready) bench-advice
	$(Q)$(ready) fuzz

built-check: all $(tests) $(progs) $(cxx_progs) fake heap host unwind built-journeys
	$(Q)$(run) $(lint_runs) tests/lint/journeys.py $(unit_runs) $(e2e_runs) $(torch_runs) $(host_small) $(mutants_try)

check-unit: all $(tests) fake ## Check suites
	$(Q)$(run) $(unit_runs)

check-e2e: all $(progs) $(cxx_progs) fake heap unwind ## real programs under the launcher
	$(Q)$(run) $(e2e_runs)

check-torch: all $(progs) ## fidelity: our traces against torch.profiler's, event by event
	$(Q)$(run) $(torch_runs)

check-host: setup ## other people's programs, bare and under us: nothing may differ
	$(Q)tests/setup.sh host
	$(Q)$(ready) built-host

built-host: all host host-musl host-asan $(BUILD)/prog/lives
	$(Q)$(run) $(host_runs)

check-readers: setup ## TensorBoard, HTA, Perfetto and chrome://tracing on our files
	+$(Q)$(ready) $(all_jobs) built-readers

built-readers: all fake $(BUILD)/prog/cuda_work
	$(Q)$(run) $(wildcard tests/readers/check_*.sh)

check-matrix: setup ## torch tests on other torch versions; see docs/measured/matrix.md
	$(Q)$(ready) all
	$(Q)BUILD=$(BUILD) tests/matrix.sh && BUILD=$(BUILD) tests/matrix_cuda.sh

docs: all $(BUILD)/fake/run-13.0/done ## write anew what is generated: tables of options, and output that pages show
	$(Q)$(BUILD)/proflaunch --print-config > profile.conf.example
	$(Q)tests/docs/options.py --write
	$(Q)BUILD=$(BUILD) tests/docs/console.py --write README.md docs/cookbook.md docs/export.md docs/torchrun.md

picture: all ## docs/trace.png anew: a step in Perfetto
	$(Q)$(venv) tests/docs/picture.py

lint: all ## layers, exports, banned calls, sizes, format, names, what the binary asks for
	$(Q)$(run) $(filter-out tests/lint/house.sh,$(lint_runs))
	$(Q)BUILD=$(BUILD) tests/lint/house.sh

journeys: $(BUILD)/prog/edges $(BUILD)/prog/cuda_times $(BUILD)/prog/heap_pairs $(fake)/run-13.0/done built-journeys ## the files that one record goes through
	$(Q)tests/lint/journeys.py

# A build of its own, in which each function says that it begins.
built-journeys:
	$(Q)mkdir -p $(BUILD)-journeys
	$(Q)$(CC) -O2 -Wall -Wextra -fPIC -DFOLDER='"$(abspath $(BUILD)-journeys)/calls"' -c \
		-o $(BUILD)-journeys/journeys.o tests/lint/journeys.c
	+$(Q)$(ready) BUILD=$(BUILD)-journeys SAN= CFLAGS='-O0 -g -finstrument-functions' \
		LDFLAGS=$(BUILD)-journeys/journeys.o all

bench: all $(progs) $(BUILD)/fake/run-13.0/done heap unwind ## what recording costs; the tables of docs/costs.md
	$(Q)tests/bench/run.sh

bench-advice: all ## 30 planted problems and 15 healthy programs: does the report name the right one?
	$(Q)BUILD=$(BUILD) tests/advice/bench.py $(ARGS)

check-gpu: all ## on a machine with an NVIDIA GPU; leaves a folder of results
	$(Q)BUILD=$(BUILD) tests/gpu/run

mutants: ## plant faults one at a time: which test notices?  ARGS="--only PATTERN", …
	$(Q)python3 tests/mutants/mutants.py $(ARGS)

mutants-base: all $(tests) $(progs) $(cxx_progs) fake heap host

# A build of its own, without optimisation: each branch of the source is one of the program.
# What the programs of the tests are built from is no part of the product, and is shared.
coverage := build-coverage
coverage: all $(progs) $(cxx_progs) fake heap host unwind ## what no test enters, by gcov; UNIT=1: the unit suites alone
	$(Q)find $(coverage) -name '*.gcda' -delete 2>/dev/null; mkdir -p $(coverage)
	$(Q)for part in fake cupti prog heap host unwind venv suite-bullseye; do \
		ln -sfn "$$(realpath $(BUILD)/$$part)" $(coverage)/$$part; done
	$(Q)$(CC) -O1 -fPIC -c -o $(coverage)/exit.o tests/coverage_exit.c
	$(Q)$(ready) BUILD=$(coverage) CFLAGS='-O0 -g --coverage -fprofile-update=atomic' \
		LDFLAGS='$(coverage)/exit.o --coverage -Wl$(comma)--wrap=_exit' \
		all $(tests:$(BUILD)/%=$(coverage)/%)
	-$(Q)BUILD=$(coverage) PATIENCE=9 tests/run.sh $(tests:$(BUILD)/%=$(coverage)/%) $(if $(UNIT),,$(e2e_runs))
	$(Q)tests/coverage.py $(coverage)

fuzz: all $(cxx_progs) ## hostile configuration lines, names and spools
	$(Q)BUILD=$(BUILD) tests/fuzz/run.sh
