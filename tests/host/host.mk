# SPDX-License-Identifier: Apache-2.0
# Programs and runs of tests/host, included by tests.mk.  See tests/host/README.md.

host        := $(BUILD)/host
host_cflags := -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -fno-builtin-malloc -fno-builtin-free \
	-pthread
host_small  := tests/host/small.sh tests/host/audit_calls.py
host_runs   := $(addprefix tests/host/,run.py cpython.py audit_calls.py audit_proc.py audit_waits.py) \
	'tests/host/run.py --mode often' 'tests/host/run.py --mode full' 'tests/host/cpython.py --mode full' \
	'tests/host/endure.py killed' 'tests/host/endure.py stopped' 'tests/host/endure.py group' \
	'tests/host/endure.py scribbled' 'tests/host/endure.py many'

host_plain  := $(patsubst tests/programs/host_%.c,$(host)/%,$(wildcard tests/programs/host_*.c))
# One program in ways that cannot be preloaded.
host_odd    := $(addprefix $(host)/hello-,static static-pie asan tsan)
# Plugins in C++ for one of them.
host_plugin := $(addprefix $(host)/plugin-,whole.so shared.so own.so)
host_musl   := $(addprefix $(host)/hello-,musl musl-static)

# CUDA's, on a synthetic GPU: run.py puts that beside them.
host_cuda   := $(host)/cuda_train $(host)/cuda_work

.PHONY: host host-musl host-asan
host: $(host_plain) $(host_odd) $(host_plugin) $(host_cuda)
host-musl: $(host_musl)
# A launcher, and finisher, that AddressSanitizer watches; the agent stays as it is.
host-asan:
	$(Q)$(MAKE) --no-print-directory SAN=address BUILD=$(BUILD)-address $(BUILD)-address/proflaunch

$(host_plain): $(host)/%: tests/programs/host_%.c tests/host/host.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(host_cflags) -o $@ $<

$(host)/plugin-whole.so:  plugin := -static-libstdc++ -static-libgcc
$(host)/plugin-shared.so: plugin :=
$(host)/plugin-own.so:    plugin := -DOWN
$(host_plugin): tests/programs/host_plugin.cc tests/host/host.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CXX) -O2 -g -Wall -Wextra -shared -fPIC $(plugin) -o $@ $<

$(host)/cuda_work: $(BUILD)/prog/cuda_work
	@mkdir -p $(@D)
	$(call say,PROG,$@)cp $< $@
$(host)/cuda_train: examples/cuda_train.c $(BUILD)/fake/run-13.0/done
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) -O2 -o $@ $< $(BUILD)/fake/run-13.0/libcudart.so.13

$(host)/hello-static:      hello := $(CC) -static
$(host)/hello-static-pie:  hello := $(CC) -static-pie
$(host)/hello-asan:        hello := $(CC) -fsanitize=address
$(host)/hello-tsan:        hello := $(CC) -fsanitize=thread
$(host)/hello-musl:        hello := musl-gcc
$(host)/hello-musl-static: hello := musl-gcc -static
$(host_odd) $(host_musl): tests/programs/host_hello.c tests/host/host.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(hello) $(host_cflags) -o $@ $<
