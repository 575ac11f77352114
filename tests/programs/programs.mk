# SPDX-License-Identifier: Apache-2.0
# Small programs for the tests. Those without a rule of their own are $(BUILD)/prog/NAME, from C
# or C++; heap_* and unwind_* below, and host_* in tests/host/host.mk, have flags of their own.

programs_apart := $(addprefix tests/programs/,heap_bump.c heap_early.c heap_own.c heap_plugins.c \
	heap_reference.c heap_sample.c heap_storm.c heap_every.cc heap_plugin.cc python_walk.c python_watch.c python_seek.c python_malloc.c python_tool.c report_figures.c report_table.c report_advice.c) \
	$(wildcard tests/programs/unwind_* tests/programs/host_*)
progs     := $(patsubst tests/programs/%.c,$(BUILD)/prog/%,$(filter-out $(programs_apart),$(wildcard tests/programs/*.c)))
cxx_progs := $(patsubst tests/programs/%.cc,$(BUILD)/prog/%,$(filter-out $(programs_apart),$(wildcard tests/programs/*.cc)))

$(progs): $(BUILD)/prog/%: tests/programs/%.c
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -I. -pthread -rdynamic -o $@ $< -ldl

# The agent's walk of Python's frames, for a Python program, and from within malloc:
# tests/e2e/test_python_walk.py. Not where a sanitizer is in the agent.
python_o := $(filter $(addprefix $(BUILD)/so/,base/% config/% agent/core/% agent/python/% writer/python/%),$(agent_o))
walks    := $(addprefix $(BUILD)/prog/,python_walk.so python_malloc.so)
progs    += $(if $(SAN),,$(walks))

$(BUILD)/prog/python_walk.a: $(python_o) tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $(python_o)

$(walks): $(BUILD)/prog/%.so: tests/programs/%.c $(BUILD)/prog/python_walk.a $(wildcard agent/python/*.h)
	$(call say,PROG,$@)$(CC) $(flags) -Wno-missing-prototypes -shared -fPIC -o $@.new $(filter %.c,$^) $(BUILD)/prog/python_walk.a \
		$(LDFLAGS) -Wl,-z,defs && mv $@.new $@

$(BUILD)/prog/python_walk.so: tests/programs/python_watch.c tests/programs/python_seek.c

# For a Python program, whose interpreter it calls.
progs    += $(BUILD)/prog/python_tool.so

$(BUILD)/prog/python_tool.so: tests/programs/python_tool.c agent/hooks/allocator.h
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(flags) -shared -fPIC -o $@.new $< && mv $@.new $@

# Parts of the report, without a command line around them.
report_progs := $(addprefix $(BUILD)/prog/report_,figures table advice)
progs        += $(report_progs)

$(report_progs): $(BUILD)/prog/%: tests/programs/%.c $(BUILD)/libunit.a
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(flags) $(san) -pthread -o $@.new $< $(BUILD)/libunit.a $(LDFLAGS) -lm $(archives) $(reading) && \
		mv $@.new $@

# On the system's libtorch.
$(cxx_progs): $(BUILD)/prog/%: tests/programs/%.cc
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CXX) -O1 -g -Wall -pthread -rdynamic -o $@ $< -ltorch_cpu -lc10

# ---- programs that allocate, and the allocator that counts: tests/e2e/test_heap_*.py ----
# An allocator's own package is enough to link with it; where it is not, nor is the program.

heap           := $(BUILD)/heap
heap_cxxflags  := -std=c++17 -O1 -g -Wall -Wextra -fno-builtin -fsized-deallocation -faligned-new \
	-pthread -rdynamic
heap_cflags    := -std=gnu11 -D_GNU_SOURCE -g -Wall -Wextra -pthread
heap_libraries := jemalloc:libjemalloc.so.2 tcmalloc:libtcmalloc_minimal.so.4 mimalloc:libmimalloc.so.2.0
heap_linked    := $(foreach l,$(heap_libraries),$(heap)/every-$(firstword $(subst :, ,$(l))))
heap_all       := $(addprefix $(heap)/,reference.so every own own-hidden sample storm pair pair-dwarf plugins \
	plugin-a.so plugin-b.so plugin-pool.so plugin-shared.so bump.so early.so) $(heap_linked)

.PHONY: heap
heap: $(heap_all)

$(heap)/reference.so: tests/programs/heap_reference.c tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O2 -fexceptions -shared -fPIC -o $@.new $< && mv $@.new $@

$(heap)/bump.so $(heap)/early.so: $(heap)/%.so: tests/programs/heap_%.c tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O1 -fno-builtin -shared -fPIC -o $@.new $< && mv $@.new $@

$(heap)/every: tests/programs/heap_every.cc tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CXX) $(heap_cxxflags) -o $@.new $< && mv $@.new $@

$(heap_linked): $(heap)/every-%: tests/programs/heap_every.cc tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CXX) $(heap_cxxflags) -o $@.new $< -Wl,--no-as-needed \
		-l:$(lastword $(subst :, ,$(filter $*:%,$(heap_libraries)))) && mv $@.new $@ || \
		echo "no $*: not built"

# The same, but its allocator cannot be seen from outside, as where a linker script hides it.
$(heap)/own-hidden: tests/programs/heap_own.c tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)echo '{ local: *; };' > $@.map && $(CC) $(heap_cflags) -O1 -fno-builtin -DHIDDEN=1 \
		-Wl,--version-script=$@.map -o $@.new $< && mv $@.new $@

$(heap)/own $(heap)/sample $(heap)/storm: $(heap)/%: tests/programs/heap_%.c tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O1 -fno-builtin -fno-omit-frame-pointer -rdynamic \
		-o $@.new $< && mv $@.new $@

# Plugins that bring the C++ library, in them or beside them; one has its own operator new.
$(heap)/plugins: tests/programs/heap_plugins.c tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O1 -o $@.new $< -ldl && mv $@.new $@

$(heap)/plugin-%.so: tests/programs/heap_plugin.cc tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CXX) -std=c++17 -O1 -g -Wall -Wextra -fno-builtin -shared -fPIC \
		$(if $(filter pool,$*),-DPOOL) $(if $(filter shared,$*),,-static-libstdc++ -static-libgcc) \
		-o $@.new $< && mv $@.new $@

# The same code with frame pointers and without, on glibc's malloc.
$(heap)/pair: tests/bench/heap_pair.c tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O2 -fno-builtin -fno-optimize-sibling-calls \
		-fno-omit-frame-pointer -rdynamic -o $@.new $< && mv $@.new $@

$(heap)/pair-dwarf: tests/bench/heap_pair.c tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O2 -fno-builtin -fno-optimize-sibling-calls \
		-fomit-frame-pointer -rdynamic -o $@.new $< && mv $@.new $@

# ---- our unwinder next to libunwind: tests/e2e/test_unwind_peer.py, and a row of `make bench` ----
# It is the agent's own, as it is in libproflaunch.so; not where a sanitizer is in that.

unwind          := $(BUILD)/unwind
unwind_cflags   := -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -Wall -Wextra -fvisibility=hidden -pthread
unwind_cxxflags := -std=c++17 -O1 -g -Wall -Wextra -fomit-frame-pointer -fopenmp -pthread -rdynamic
unwind_all      := $(if $(SAN),,$(addprefix $(unwind)/,peer.so places places-plugin.so pair))
unwind_o        := $(filter $(addprefix $(BUILD)/so/,base/% config/% agent/core/% agent/unwind/% agent/hooks/unwind%),$(agent_o))

.PHONY: unwind
unwind: $(unwind_all)

$(unwind)/agent.a: $(unwind_o) tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $(unwind_o)

$(unwind)/peer.so: tests/programs/unwind_peer.c tests/programs/unwind_peer.h $(unwind)/agent.a
	$(call say,PROG,$@)$(CC) $(unwind_cflags) -shared -fPIC -o $@.new $< $(unwind)/agent.a \
		$(LDFLAGS) -Wl,-z,defs && mv $@.new $@

$(unwind)/pair: tests/bench/unwind_pair.c tests/programs/unwind_peer.h $(BUILD)/libunit.a
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(unwind_cflags) -DHOOK_NO_EXPORT -o $@.new $< $(BUILD)/libunit.a $(LDFLAGS) && \
		mv $@.new $@

$(unwind)/places: tests/programs/unwind_places.cc tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CXX) $(unwind_cxxflags) -o $@.new $< -ltorch_cpu -lc10 -ldl && mv $@.new $@

$(unwind)/places-plugin.so: tests/programs/unwind_plugin.c tests/programs/programs.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) -O2 -g -shared -fPIC -o $@.new $< && mv $@.new $@
