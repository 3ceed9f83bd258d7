# SPDX-License-Identifier: GPL-2.0-or-later
#
# The commands of README.md; "make help" lists them.  Each of them first does
# what it needs, even in a fresh clone.

BUILD ?= build
# Options for the first configure, for example
# CONFIGURE=--qemu-src=DIR.  They are remembered, as are CC and PYTHON.
CONFIGURE ?=

export BUILD := $(abspath $(BUILD))

qemu := $(BUILD)/qemu
core := $(BUILD)/core
sanitized := $(BUILD)/core-sanitize
fuzzed := $(BUILD)/core-fuzz
qemu_sanitized := $(BUILD)/qemu-sanitize/qemu-system-x86_64
fuzzers := $(addprefix tests/fuzz/fuzz-,block check load log registers)
meson := $(BUILD)/python/bin/meson
slots := tools/x86-slots/x86-slots
# A TCG plugin of QEMU's, which pmu/count/plugin loads.
plugin := contrib/plugins/libhotblocks.so

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
# Meson and ninja run jobs in parallel themselves.
.NOTPARALLEL:

.PHONY: all
all: configured ## build qemu-system-x86_64 (the default)
	ninja -C $(qemu) qemu-system-x86_64 qemu-img

.PHONY: run
run: all ## boot a Debian kernel and show perf stat --topdown in it
	scripts/run-topdown

.PHONY: check
check: all core tools stock fuzz ## run all tests
	ninja -C $(qemu) $(plugin)
	scripts/install-deps --as-configured package
	scripts/run-tests --beside "layers=tests/scripts/check-layers" \
	    --beside "docs=tests/docs/run" \
	    --beside "core-flags=tests/scripts/check-core-flags $(core) $(sanitized) $(qemu)" \
	    --beside "patches=scripts/check-patches" \
	    --beside "kernel-ci=tests/kernel-ci/run" \
	    --beside "scripts=tests/scripts/run" \
	    --beside "report=tests/report/run" \
	    --beside "shim=tests/scripts/shim" \
	    --beside "deb=tests/scripts/deb" \
	    --beside "x86-slots=tests/accuracy/tool $(sanitized)/$(slots)" \
	    --beside "accuracy=tests/accuracy/check" \
	    --beside "fuzz=tests/fuzz/run" \
	    --beside "zero-cost=tests/bench/zero-cost" \
	    --beside "bench=tests/bench/smoke" \
	    --beside "virtme-ng=tests/scripts/vng" \
	    --meson $(core) --meson $(sanitized) \
	    --meson "$(qemu):qtest-x86_64/pmu-*" \
	    --meson "$(qemu):qtest-x86_64/intel-dsa-*" \
	    --program "functional=tests/functional/run"

# Run the guest's fuzzer and libFuzzer for two hours, and other slow tests, to
# find errors that other tests do not show.
.PHONY: check-long
check-long: all fuzz sanitize ## fuzz for two hours, and tests that take long
	ninja -C $(qemu) tests/qtest/intel-dsa-lifecycle-test
	scripts/install-deps --as-configured kernel hosts
	scripts/run-tests --timeout-scale 3 \
	    --program "functional-long=tests/functional/run --long" \
	    --program "kernel-ci-long=tests/kernel-ci/run --long" \
	    --program "virtme-ng-shim=tests/scripts/vng --shim" \
	    --program "mutation=tests/mutation/run" \
	    --program "accuracy-published=tests/accuracy/check --published" \
	    --program "fuzz=tests/fuzz/run --seconds 900" \
	    --program "fuzz-guest=tests/functional/fuzz --seconds 3600 \
	        --qemu $(qemu_sanitized)" \
	    --program "fuzz-dsa=env QTEST_QEMU_BINARY=$(qemu_sanitized) \
	        INTEL_DSA_FUZZ_SECONDS=900 \
	        $(qemu)/tests/qtest/intel-dsa-lifecycle-test -p /x86_64/intel-dsa/fuzz"

.PHONY: check-unit
check-unit: core ## test the model core alone, plain and sanitized
	scripts/run-tests --meson $(core) --meson $(sanitized)

.PHONY: check-tools
check-tools: tools ## test x86-slots, the model without a guest
	scripts/run-tests \
	    --program "x86-slots=tests/accuracy/tool $(sanitized)/$(slots)"

.PHONY: check-qtest
check-qtest: all ## test PMU and DSA without an operating system
	ninja -C $(qemu) $(plugin)
	scripts/run-tests --meson "$(qemu):qtest-x86_64/pmu-*" \
	    --meson "$(qemu):qtest-x86_64/intel-dsa-*"

.PHONY: check-functional
check-functional: all tools ## test with Debian's kernels
	scripts/run-tests --program "functional=tests/functional/run"

.PHONY: check-patches
check-patches: configured ## check that the hooks fit and stay small
	scripts/run-tests --program "patches=scripts/check-patches"

.PHONY: bench
bench: all stock ## print what counting costs, against unpatched QEMU
	ninja -C $(qemu) tests/qtest/intel-dsa-lifecycle-test
	@said=$$(QTEST_QEMU_BINARY=$(qemu)/qemu-system-x86_64 \
	    $(qemu)/tests/qtest/intel-dsa-lifecycle-test --verbose -m perf \
	    -p /x86_64/intel-dsa/throughput) || { echo "$$said"; exit 1; }; \
	echo "$$said" | grep memcpy
	tests/bench/run

# Print all reports; the exit status is that of the worst.
.PHONY: accuracy
accuracy: all tools ## print how near the model is to measurements
	@status=0; \
	tests/accuracy/blocks || status=1; \
	tests/accuracy/instructions --core icelake --require 83.0,95.6 \
	    --worst 10 || status=1; \
	tests/accuracy/instructions --core sapphirerapids \
	    --require 92.7,96.9 --worst 10 || status=1; \
	tests/accuracy/programs --boot || status=1; \
	tests/accuracy/programs --published || status=1; \
	exit $$status

.PHONY: stock
stock: ## build unpatched QEMU, to compare with
	scripts/build-stock

.PHONY: sanitize
sanitize: ## build QEMU with AddressSanitizer and UndefinedBehaviorSanitizer
	@./configure --build-dir=$(BUILD) --reuse --sanitize $(CONFIGURE)
	ninja -C $(BUILD)/qemu-sanitize qemu-system-x86_64

# Without clang nothing is built, and tests/fuzz/run says so.
.PHONY: fuzz
fuzz: core ## build fuzzers of the model core, if there is clang
	@./configure --build-dir=$(BUILD) --reuse --core-only --fuzz $(CONFIGURE)
	@! command -v clang > /dev/null || test -e $(fuzzed)/build.ninja || \
	    CC=clang $(meson) setup -Db_sanitize=address,undefined \
	        -Db_lundef=false -Dc_args=-fsanitize=fuzzer-no-link \
	        $(fuzzed) .
	@! test -e $(fuzzed)/build.ninja || ninja -C $(fuzzed) $(fuzzers)

.PHONY: install
install: all ## install to the prefix configured
	DESTDIR=$(DESTDIR) scripts/install-qemu

.PHONY: deb
deb: all tools ## make Debian packages in build/deb
	scripts/install-deps --as-configured package
	scripts/build-deb

.PHONY: update-patches
update-patches: ## write edits of QEMU's files in build/src to patches/
	scripts/update-patches

.PHONY: clean
clean: ## remove what was compiled, keep what was downloaded
	rm -rf $(qemu) $(core) $(sanitized) $(fuzzed) $(BUILD)/stock \
	    $(BUILD)/qemu-sanitize

.PHONY: distclean
distclean: ## remove the build directory, with unsaved edits in it
	rm -rf $(BUILD)

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | \
	    awk -F'|' '{ printf "make %-18s %s\n", $$1, $$2 }'

# Incremental: does nothing when nothing changed.
.PHONY: configured
configured:
	@./configure --build-dir=$(BUILD) --reuse $(CONFIGURE)

.PHONY: tools
tools: core ## build x86-slots and pmu-check, which need no guest
	ninja -C $(core) $(slots) tools/pmu-check/pmu-check
	ninja -C $(sanitized) $(slots)

.PHONY: docs-events
docs-events: core ## print the events that there are into the manual
	ninja -C $(core) tools/pmu-events/pmu-events
	$(core)/tools/pmu-events/pmu-events > \
	    docs/system/i386/perf-metrics-events.rst.inc
	$(core)/tools/pmu-events/pmu-events --older > \
	    docs/system/i386/pmu-older-events.rst.inc

.PHONY: core
core:
	@./configure --build-dir=$(BUILD) --reuse --core-only $(CONFIGURE)
	@test -e $(core)/build.ninja || $(meson) setup $(core) .
	@test -e $(sanitized)/build.ninja || \
	    $(meson) setup -Db_sanitize=address,undefined $(sanitized) .
