# SPDX-License-Identifier: Apache-2.0
# The GPU that is not there: see tests/fake/README.md.

fake          := $(BUILD)/fake
fake_versions := 11.7 11.8 12.1 12.4 12.8 13.0 13.1 13.3 13.4
fake_flags    := -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -fPIC -pthread -fvisibility=hidden \
	-Wall -Wextra -Wshadow -Wvla -Wformat=2 -Wno-missing-field-initializers -Wno-missing-prototypes \
	$(if $(WERROR),-Werror)
fake_headers  := $(wildcard tests/fake/*.h tests/fake/*.def tests/fake/include/*.h) \
	tests/fake/fake.mk
# CUPTI's library name carries the minor version up to 11.
fake_cupti     = libcupti.so.$(if $(filter 11.%,$(1)),$(1),$(basename $(1)))
fake_cudart    = libcudart.so.$(if $(filter 11.%,$(1)),11.0,$(basename $(1)))
fake_libraries := $(fake)/libcuda.so.1 $(fake)/libnccl.so.2 \
	$(addprefix $(fake)/cudart/,libcudart.so.11.0 libcudart.so.12 libcudart.so.13 \
	libcudart-e409450e.so.11.0)
fake_torch := $(addprefix $(fake)/torch/,new.so old.so half.so)
fake_all := $(foreach v,$(fake_versions),$(fake)/run-$(v)/done) $(fake_torch)

.PHONY: fake
fake: $(fake_all) ## a GPU, its driver, cudart, CUPTI and NCCL for tests

# A new file under the old name: programs may have the old one mapped.
define fake_library
	@mkdir -p $(@D)
	$(call say,FAKE,$@)$(CC) $(fake_flags) $(1) -shared -Wl,-soname,$(2) -o $@.new \
		$(filter %.c,$^) -ldl $(3) && mv $@.new $@
endef

$(fake)/libcuda.so.1: $(addprefix tests/fake/,driver.c driver_work.c driver_libraries.c call.c device.c \
		graph.c memory.c script.c time.c) $(fake_headers)
	$(call fake_library,,libcuda.so.1,)

$(fake)/libnccl.so.2: tests/fake/nccl.c $(fake_headers)
	$(call fake_library,,libnccl.so.2,)

$(fake)/torch/new.so: fake_way :=
$(fake)/torch/old.so: fake_way := -DFAKE_TORCH_OLD
$(fake)/torch/half.so: fake_way := -DFAKE_TORCH_HALF
$(fake_torch): tests/fake/torch.c agent/torch/abi.h $(fake_headers)
	$(call fake_library,$(fake_way),libtorch_cpu.so,)

# $(1) file, $(2) symbol version, $(3) flags
define fake_cudart_rule
$(fake)/cudart/$(1): $(addprefix tests/fake/,cudart.c cudart_work.c cudart_memory.c \
		cudart_arrays.c) \
		$(fake_headers)
	@mkdir -p $$(@D)
	@echo '$(2) { global: cuda*; __cuda*; local: *; };' > $$@.map
	$$(call fake_library,$(3),$(1),-Wl$$(comma)--version-script=$$@.map)
endef
$(eval $(call fake_cudart_rule,libcudart.so.11.0,libcudart.so.11.0,-DCUDART=11))
$(eval $(call fake_cudart_rule,libcudart.so.12,libcudart.so.12,-DCUDART=12))
$(eval $(call fake_cudart_rule,libcudart.so.13,libcudart.so.13,-DCUDART=13))
$(eval $(call fake_cudart_rule,libcudart-e409450e.so.11.0,libcudart.so.11.0,-DCUDART=11 \
	-DCUDART_OLD))

# $(1) version
define fake_version_rules
$(fake)/$(1)/names.h: tests/fake/headers.py $(BUILD)/cupti/$(1)/done
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)python3 $$< $(BUILD)/cupti/$(1)/include $(1) > $$@.new && \
		mv $$@.new $$@

$(fake)/$(1)/$(call fake_cupti,$(1)): $(wildcard tests/fake/cupti*.c) $(fake_headers) \
		$(fake)/$(1)/names.h
	@echo '$(call fake_cupti,$(1)) { global: cupti*; fake_*; local: *; };' > $$@.map
	$$(call fake_library,-DVERSION=$(subst .,,$(1)) -Wno-missing-prototypes \
		-I$(fake)/$(1) -Itests/fake/include -isystem $(BUILD)/cupti/$(1)/include \
		,$(call fake_cupti,$(1)),-Wl$$(comma)--version-script=$$@.map)

$(fake)/run-$(1)/done: tests/fake/lay.sh $(fake)/$(1)/$(call fake_cupti,$(1)) \
		$(fake_libraries)
	$(Q)tests/fake/lay.sh $(fake) $(1) $(call fake_cupti,$(1)) $(call fake_cudart,$(1))
endef
$(foreach v,$(fake_versions),$(eval $(call fake_version_rules,$(v))))

$(BUILD)/cupti/%/done:
	$(Q)tests/setup.sh $(shell sed -n 's/.*cupti:\(nvidia-cuda-cupti[a-z0-9-]*==$*\.[0-9]*\).*/\1/p' tests/setup.sh)
