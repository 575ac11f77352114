# SPDX-License-Identifier: Apache-2.0
# `make help` lists the targets.  Override on the command line, not in here:
#   make CC=clang SAN=address,undefined V=1 check-unit

comma    := ,
VERSION  := $(shell cat VERSION)
PREFIX   ?= /usr/local
CFLAGS   ?= -O2 -g
BUILD    ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
export BUILD

Q   := $(if $(V),,@)
say  = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2);)

# ---- flags ------------------------------------------------------------------
warn := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wformat=2 -Wno-missing-field-initializers $(if $(WERROR),-Werror)
# Compilers do not agree on how to say so themselves.
sanitized := $(foreach s,$(subst $(comma), ,$(SAN)),$(subst address,-DSANITIZED_ADDRESS,$(subst thread,-DSANITIZED_THREAD,$(filter address thread,$s))))
san  := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer $(sanitized))
flags = -std=gnu11 -D_GNU_SOURCE -I. -DVERSION='"$(VERSION)"' -pthread \
	-fvisibility=hidden $(warn) $(san) $(CFLAGS)

# ---- sources: one folder is one layer ---------------------------------------
agent  := $(wildcard agent/*.c agent/*/*.c writer/*.c)
front  := $(wildcard launcher/*.c report/*.c agent/core/*.c agent/sched/schedule.c agent/sched/marker.c) $(filter-out writer/thread.c,$(wildcard writer/*.c))
tests  := $(patsubst tests/unit/%.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
progs  := $(patsubst tests/prog/%.c,$(BUILD)/prog/%,$(wildcard tests/prog/*.c))

agent_o := $(agent:%.c=$(BUILD)/so/%.o) $(patsubst %.S,$(BUILD)/so/%.o,$(wildcard agent/*/*.S))
front_o := $(front:%.c=$(BUILD)/bin/%.o)
unit_o  := $(patsubst %.c,$(BUILD)/unit/%.o,$(filter-out agent/agent.c,$(agent)) $(addprefix launcher/,args.c refill_find.c span.c) $(wildcard report/*.c))

# Static archives by name, so that the agent needs libc alone.
archives := -l:libdeflate.a -l:libiberty.a
# What reads traces takes gzip in pieces; the agent has none of it.
reading  := -l:libz.a
# Symbols that newer C libraries renamed are bound to their old versions.
floor   := -include agent/core/libc_floor.h
floor_l := -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0

.PHONY: all setup demo demo-gpu check check-unit check-e2e check-torch check-readers \
	check-matrix check-gpu lint bench fuzz install clean help
.SECONDARY:
all: $(BUILD)/libproflaunch.so $(BUILD)/proflaunch ## the agent and the launcher

# The hook tables, and our public entry points, are all that is exported.
$(BUILD)/exports.map: $(wildcard agent/*/*.def) Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@){ echo '{ global: proflaunch_step; proflaunch_collect; InitializeInjection;'; \
		sed -n 's/^HOOK([^,]*, *\([A-Za-z0-9_]*\).*/\1;/p' $(filter %.def,$^); \
		echo 'local: *; };'; } > $@

$(BUILD)/libproflaunch.so: $(BUILD)/exports.map $(agent_o)
	$(call say,LINK,$@)$(CC) -shared $(san) -o $@.new $(agent_o) $(LDFLAGS) \
		-Wl,--exclude-libs,ALL $(archives) $(if $(SAN),,$(floor_l)) \
		-Wl,--version-script=$< -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack \
		-Wl,-z,text $(if $(SAN),,-Wl,-z,defs) && mv $@.new $@

$(BUILD)/proflaunch: $(front_o)
	$(call say,LINK,$@)$(CC) $(san) -o $@ $^ $(LDFLAGS) $(archives) $(reading) -ldl

$(BUILD)/libunit.a: $(unit_o)
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/test_%: $(BUILD)/unit/tests/unit/test_%.o $(BUILD)/libunit.a
	$(call say,LINK,$@)$(CC) $(san) -pthread -o $@ $^ $(LDFLAGS) $(archives) $(reading) \
		$(shell pkg-config --libs check)

$(BUILD)/prog/%: tests/prog/%.c
	@mkdir -p $(@D)
	$(call say,PROG,$@)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -I. -pthread -rdynamic -o $@ $< -ldl

# Three builds of an object: in the agent, in a program, in a unit test (where
# it must not replace the test program's own functions).
$(BUILD)/so/%.o:   extra := -fPIC -ftls-model=initial-exec $(if $(SAN),,$(floor))
$(BUILD)/unit/%.o: extra := -DHOOK_NO_EXPORT
define compile
$(BUILD)/$(1)/%.o: %.c Makefile VERSION
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$$(CC) $$(flags) $$(extra) -MMD -MP -c -o $$@ $$<
endef
$(foreach kind,so bin unit,$(eval $(call compile,$(kind))))
$(BUILD)/so/%.o: %.S Makefile
	@mkdir -p $(@D)
	$(call say,AS,$@)$(CC) $(flags) -fPIC -MMD -MP -c -o $@ $<

# ---- checks -----------------------------------------------------------------
-include tests/tests.mk

install: all ## honours PREFIX and DESTDIR
	install -D -m 755 $(BUILD)/proflaunch $(DESTDIR)$(PREFIX)/bin/proflaunch
	install -D -m 755 $(BUILD)/libproflaunch.so $(DESTDIR)$(PREFIX)/lib/libproflaunch.so
	install -D -m 644 agent/proflaunch.h $(DESTDIR)$(PREFIX)/include/proflaunch.h
	for lib in $$(ls /usr/lib/*/libZydis.so.4.0 /usr/lib/*/libZycore.so.1.4 2>/dev/null); do \
		install -m 644 $$lib $(DESTDIR)$(PREFIX)/lib/; done
	mkdir -p $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5
	$(BUILD)/proflaunch --print-man proflaunch.1 > $(DESTDIR)$(PREFIX)/share/man/man1/proflaunch.1
	$(BUILD)/proflaunch --print-man profile.conf.5 > $(DESTDIR)$(PREFIX)/share/man/man5/profile.conf.5

clean: ## remove every build folder
	rm -rf build build-*

help: ## this text
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile tests/tests.mk | expand -t 16

-include $(shell find $(BUILD)/so $(BUILD)/bin $(BUILD)/unit -type f -name '*.d' 2>/dev/null)
