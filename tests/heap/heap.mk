# SPDX-License-Identifier: Apache-2.0
# Programs that allocate, and the allocator that counts: for tests/e2e/test_heap_*.py.
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

$(heap)/reference.so: tests/heap/reference.c tests/heap/heap.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O2 -fexceptions -shared -fPIC -o $@.new $< && mv $@.new $@

$(heap)/bump.so $(heap)/early.so: $(heap)/%.so: tests/heap/%.c tests/heap/heap.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O1 -fno-builtin -shared -fPIC -o $@.new $< && mv $@.new $@

$(heap)/every: tests/heap/every.cc tests/heap/heap.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CXX) $(heap_cxxflags) -o $@.new $< && mv $@.new $@

$(heap_linked): $(heap)/every-%: tests/heap/every.cc tests/heap/heap.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CXX) $(heap_cxxflags) -o $@.new $< -Wl,--no-as-needed \
		-l:$(lastword $(subst :, ,$(filter $*:%,$(heap_libraries)))) && mv $@.new $@ || \
		echo "no $*: not built"

# The same, but its allocator cannot be seen from outside, as where a linker script hides it.
$(heap)/own-hidden: tests/heap/own.c tests/heap/heap.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)echo '{ local: *; };' > $@.map && $(CC) $(heap_cflags) -O1 -fno-builtin -DHIDDEN=1 \
		-Wl,--version-script=$@.map -o $@.new $< && mv $@.new $@

$(heap)/own $(heap)/sample $(heap)/storm: $(heap)/%: tests/heap/%.c tests/heap/heap.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O1 -fno-builtin -fno-omit-frame-pointer -rdynamic \
		-o $@.new $< && mv $@.new $@

# Plugins that bring the C++ library, in them or beside them; one has its own operator new.
$(heap)/plugins: tests/heap/plugins.c tests/heap/heap.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O1 -o $@.new $< -ldl && mv $@.new $@

$(heap)/plugin-%.so: tests/heap/plugin.cc tests/heap/heap.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CXX) -std=c++17 -O1 -g -Wall -Wextra -fno-builtin -shared -fPIC \
		$(if $(filter pool,$*),-DPOOL) $(if $(filter shared,$*),,-static-libstdc++ -static-libgcc) \
		-o $@.new $< && mv $@.new $@

# The same code with frame pointers and without, on glibc's malloc.
$(heap)/pair: tests/bench/heap_pair.c tests/heap/heap.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O2 -fno-builtin -fno-optimize-sibling-calls \
		-fno-omit-frame-pointer -rdynamic -o $@.new $< && mv $@.new $@

$(heap)/pair-dwarf: tests/bench/heap_pair.c tests/heap/heap.mk
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) $(heap_cflags) -O2 -fno-builtin -fno-optimize-sibling-calls \
		-fomit-frame-pointer -rdynamic -o $@.new $< && mv $@.new $@
