# SPDX-License-Identifier: Apache-2.0
# `make help` lists the targets.  Override on the command line, not in here:
#   make CC=clang SAN=address,undefined V=1 check-unit

comma    := ,
VERSION  := $(shell cat VERSION)
PREFIX   ?= /usr/local
LIBDIR   ?= $(PREFIX)/lib
BUNDLE   ?=
DIST     ?= dist
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
# Where the folder lies is not in what is built: two folders give the same bytes.
flags = -std=gnu11 -D_GNU_SOURCE -I. -DVERSION='"$(VERSION)"' -pthread '-ffile-prefix-map=$(CURDIR)=.' \
	-fvisibility=hidden $(warn) $(san) $(CFLAGS)

# ---- sources: one folder is one layer ---------------------------------------
# What runs at each start of a program alone comes first, then what a fork child and an exec
# run, too: their code, constants and variables lie on few pages (`make bench`, page faults).
# Tables among them are SELDOM (base/seldom.h); agent/state.c is last, for most of it is.
start  := $(addprefix config/,config_file.c config_table.c config.c) \
	$(addprefix agent/hooks/,start.c weak.c process.c dlsym.c adds.c) \
	$(addprefix base/,tally.c elf.c fmt.c log.c own_thread.c) \
	$(addprefix agent/core/,script.c rare.c clock.c gate.c) \
	$(addprefix agent/sched/,exit.c schedule.c marker.c) agent/torch/torch.c agent/torch/observe.c \
	agent/torch/abi.c agent/core/job.c agent/cupti/lib/session.c agent/cuda/cuda.c agent/cuda/entry.S \
	$(addprefix agent/,wire_gpu.c wire_heap.c library.c agent.c begin.c)
forked := $(addprefix base/,sys.c sys_call.c tls.c sys_file.c unseen.c) agent/core/thread.c \
	$(addprefix agent/sched/,state.c marks.c follow.c sched.c cycle.c steps.c) agent/core/self.c \
	agent/heap/heap.c agent/cupti/cupti.c $(addprefix agent/,wire_python.c fork.c midway.c turns.c limits.c) \
	$(addprefix agent/hooks/,exec.c exec_env.c exec_seen.c exec_find.c) config/own_env.c config/aside.c \
	base/image.c agent/python/python.c agent/python/objects.c writer/thread.c writer/crew.c agent/heap/malloc.c agent/core/spool_reserve.c
early  := $(start) $(forked) agent/state.c
below   = $(sort $(shell find $(1) -name '*.c' -o -name '*.S'))
ground := $(wildcard base config agent/core)
agent  := $(early) $(filter-out $(early),$(call below,$(wildcard base config) agent writer))
front  := $(filter %.c,$(call below,launcher finisher report)) $(filter-out writer/thread.c writer/crew.c writer/ahead.c, \
	$(call below,$(ground) writer)) agent/sched/schedule.c agent/sched/marker.c
tables  = $(shell find agent -name '*.def')
tests  := $(patsubst tests/unit/%.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))

agent_o := $(addprefix $(BUILD)/so/,$(addsuffix .o,$(basename $(agent))))
# A sanitizer brings a start, and functions, of its own.
front   := $(if $(SAN),$(filter-out launcher/old_libc.c,$(front)),$(front))
front_o := $(front:%.c=$(BUILD)/bin/%.o) $(BUILD)/bin/report/page/parts.o $(if $(SAN),,$(BUILD)/bin/launcher/start.o)
unit_o  := $(patsubst %.c,$(BUILD)/unit/%.o,$(filter-out agent/agent.c %.S,$(agent)) \
	$(filter-out launcher/main.c launcher/old_libc.c %.S,$(call below,launcher finisher report))) \
	$(BUILD)/unit/report/page/parts.o $(BUILD)/unit/agent/python/c_entry.o

# Static archives by name, so that the agent needs libc alone.
archives := -l:libdeflate.a -l:libiberty.a
# What reads traces takes gzip in pieces; the agent has none of it.
reading  := -l:libz.a
# A distribution's package takes its own: debian/rules.
front_archives ?= $(archives) $(reading)
# Symbols that newer C libraries renamed are bound to their old versions.
floor   := -include base/libc_floor.h
floor_l := -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -l:libm.so.6
# A program's start is renamed, too: launcher/start.S takes the place of crt1.o.
crt      = $(shell $(CC) -print-file-name=$(1))
start_l  = -nostartfiles $(call crt,crti.o) $(call crt,crtbeginS.o)
end_l    = $(call crt,crtendS.o) $(call crt,crtn.o)

.PHONY: all setup demo demo-gpu check check-unit check-e2e check-torch check-readers \
	check-matrix check-gpu lint bench fuzz install uninstall wheel deb release clean help
.SECONDARY:
all: $(BUILD)/libproflaunch.so $(BUILD)/proflaunch ## the agent and the launcher

# A machine without the headers is told so once, before the compiler says it of each file.
$(BUILD)/needs.%: tests/needs.sh
	@mkdir -p $(@D)
	@CC='$(CC)' tests/needs.sh $* && touch $@

# The hook tables, and our public entry points, are all that is exported.
$(BUILD)/exports.map: $(tables) Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@){ echo '{ global: proflaunch_step; proflaunch_collect; InitializeInjection;'; \
		sed -n 's/^HOOK([^,]*, *\([A-Za-z0-9_]*\).*/\1;/p' $(filter %.def,$^); \
		echo 'local: *; };'; } > $@

$(BUILD)/libproflaunch.so: $(BUILD)/exports.map $(agent_o)
	$(call say,LINK,$@)$(CC) -shared $(san) -o $@.new $(agent_o) $(LDFLAGS) \
		-Wl,--exclude-libs,ALL $(archives) \
		-Wl,--version-script=$< -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack \
		-Wl,-z,text -Wl,-z,noseparate-code $(if $(SAN),,-Wl,-z,defs) && mv $@.new $@

$(BUILD)/proflaunch: $(front_o)
	$(call say,LINK,$@)$(CC) $(san) -o $@.new $(if $(SAN),,$(start_l)) $^ $(LDFLAGS) $(front_archives) \
		$(if $(SAN),-ldl -lm,$(floor_l) $(end_l)) && mv $@.new $@

$(BUILD)/libunit.a: $(unit_o)
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/test_%: $(BUILD)/unit/tests/unit/test_%.o $(BUILD)/libunit.a
	$(call say,LINK,$@)$(CC) $(san) -pthread -o $@ $^ $(LDFLAGS) $(archives) $(reading) \
		$(shell pkg-config --libs check)

# Three builds of an object: in the agent, in a program, in a unit test (where
# it must not replace the test program's own functions).
# Constants stay in their object's order: see `start`.
$(BUILD)/so/%.o:   extra := -fno-merge-constants -fPIC -ftls-model=initial-exec $(if $(SAN),,$(floor))
$(BUILD)/bin/%.o:  extra := $(if $(SAN),,$(floor))
$(BUILD)/unit/%.o: extra := -DHOOK_NO_EXPORT
# Which commit a launcher was built of: `proflaunch --version --verbose`.
# What is known stays where git does not tell (another user's tree). Sources that `git archive` has packed are told by packaging/commit.
COMMIT ?= $(if $(wildcard .git),$(shell git describe --always --dirty --abbrev=12 --exclude '*' 2> /dev/null),$(filter-out $$%,$(shell cut -c-12 packaging/commit)))
$(BUILD)/commit: FORCE
	@mkdir -p $(@D)
	@commit='$(COMMIT)'; [ -z "$$commit" -a -e $@ ] || echo "$$commit" | cmp -s - $@ || echo "$$commit" > $@
.PHONY: FORCE
$(BUILD)/bin/launcher/version.o: $(BUILD)/commit
$(BUILD)/bin/launcher/version.o: private flags += '-DCOMMIT="$(shell cat $(BUILD)/commit)"'
define compile
$(BUILD)/$(1)/%.o: %.c Makefile VERSION | $(BUILD)/needs.build
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$$(CC) $$(flags) $$(extra) -MMD -MP -c -o $$@ $$<
endef
define assemble
$(BUILD)/$(1)/%.o: %.S Makefile
	@mkdir -p $$(@D)
	$$(call say,AS,$$@)$$(CC) $$(flags) -fPIC -MMD -MP -c -o $$@ $$<
endef
$(foreach kind,so bin unit,$(eval $(call compile,$(kind))))
$(foreach kind,so bin unit,$(eval $(call assemble,$(kind))))

# The page of `report --html` is text in the launcher: its scripts are joined in this order.
page_js := $(addprefix report/page/,$(addsuffix .js,dom payload table overview tables timeline flame memory compare page))
page    := report/page/join.sh report/page/page.html report/page/page.css $(page_js)
$(BUILD)/page/page.head: $(page)
	@mkdir -p $(@D)
	$(call say,GEN,$@)report/page/join.sh $(@D) report/page/page.css $(page_js)
$(BUILD)/bin/report/page/parts.o $(BUILD)/unit/report/page/parts.o: $(BUILD)/page/page.head
$(BUILD)/bin/report/page/parts.o $(BUILD)/unit/report/page/parts.o: private flags += -Wa,-I$(BUILD)/page

# ---- checks -----------------------------------------------------------------
-include tests/tests.mk

# By the environment, and not in the command's words: a folder's name may have blanks.
install uninstall: export PREFIX := $(PREFIX)
install uninstall: export LIBDIR := $(LIBDIR)
install uninstall: export DESTDIR := $(DESTDIR)
install uninstall: export BUNDLE := $(BUNDLE)
install: all ## honours PREFIX, LIBDIR, DESTDIR and BUNDLE: packaging/install.sh
	$(Q)packaging/install.sh install

uninstall: ## takes away what `make install` with the same words has put into place
	$(Q)packaging/install.sh uninstall

# Always anew: what an older one has left is not in this one.
wheel: all ## $(DIST)/*.whl, for `pip install`
	@rm -rf $(BUILD)/wheel
	$(Q)$(MAKE) --no-print-directory -s install DESTDIR=$(BUILD)/wheel PREFIX= LIBDIR=/lib BUNDLE=1
	$(Q)python3 packaging/wheel.py $(BUILD)/wheel '$(DIST)'

deb: ## $(DIST)/*.deb for this Debian, and its -dbgsym
	$(Q)packaging/deb.sh '$(DIST)'

release: ## sources, wheel, packages, SBOM and SHA256SUMS in $(DIST); of a clean tree alone
	$(Q)packaging/release.sh '$(DIST)'

clean: ## remove every build folder
	rm -rf build build-*

help: ## this text
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile tests/tests.mk | expand -t 16

-include $(shell find $(BUILD)/so $(BUILD)/bin $(BUILD)/unit -type f -name '*.d' 2>/dev/null)
