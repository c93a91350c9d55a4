# strait: build/strait and everything that proves it. `make help` lists the targets.
MODE   ?= release
# The release binary is build/strait; other modes have a folder of their own.
BUILD  ?= $(if $(filter release,$(MODE)),build,build/$(MODE))
ifeq ($(origin CC),default)
CC     := gcc
endif
PARTS  ?= core codecs traces learn workloads sim process emu mpi analysis campaign lib serve

comma := ,
# V=1 shows the commands.
Q := $(if $(V),,@)

VERSION := $(shell cat VERSION)
WARN   := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
          -Wvla -Wwrite-strings -Wformat=2 -Wundef
# Lines of functions without their variables, most of which -O3 has taken away: an eighth of the
# compiler's time. CFLAGS=-g has all; tests, which are not optimised, have them.
CFLAGS_release := -O3 -g1
# What sanitizers put in hides values from these warnings; release has them.
BLINDED        := $(if $(findstring clang,$(CC)),,-Wno-maybe-uninitialized -Wno-format-truncation)
CFLAGS_asan    := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined \
                  -fno-omit-frame-pointer $(BLINDED)
CFLAGS_tsan    := -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan $(BLINDED)
CFLAGS_coverage := -O0 --coverage
# Equal object code tells changes that alter nothing.
# What is used before it is set, or beyond an array's end, shows: as under sanitizers, but cheaply.
CFLAGS_mutants := -O2 -g0 -ftrivial-auto-var-init=pattern -fsanitize=bounds \
                  -fsanitize-undefined-trap-on-error
# SimGrid is not linked: it is loaded when a simulation asks for it (sim/simgrid_library.c).
PKGS   := jansson libzstd liblz4 zlib libxxhash lapacke openblas libmnl libarchive
# libzfp, fpzip and blosc ship no pkg-config file in Debian 12.
LDLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lzfp -lfpzip -lblosc -lpthread -lm
# SimGrid makes and drops a handful of objects a message, each time in its own order, for which
# glibc's allocator takes 40 % of a large simulation. Sanitizers bring theirs.
ALLOCATOR := $(if $(filter release,$(MODE)),-Wl$(comma)--no-as-needed -lmimalloc -Wl$(comma)--as-needed)
# Files of the same folder are included by name, all others by their path from here.
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -iquote . -g -fPIC -fvisibility=hidden -ffp-contract=off -fexceptions $(WARN) $(WERROR) \
             $(CFLAGS_$(MODE)) -DSTRAIT_VERSION='"$(VERSION)"' $(CFLAGS)
# gold, where it is installed, takes half the time.
GOLD        := $(if $(shell command -v ld.gold),-fuse-ld=gold)
ALL_LDFLAGS = $(filter -fsanitize% --coverage,$(CFLAGS_$(MODE))) $(GOLD) $(COUNT_EXITS) $(LDFLAGS)
# Where lines are counted, so are those of children that end with _exit.
COUNT_EXITS := $(if $(filter coverage,$(MODE)),-Wl$(comma)--wrap=_exit -Wl$(comma)--wrap=__gcov_dump \
                 $(BUILD)/tests/mutants/flush.o)

# The one file that sees MPI; without it strait runs all but `strait rank`.
MPICC      ?= $(shell command -v mpicc)
MPI_MODULE  = $(if $(MPICC),$(BUILD)/strait-mpi.so)
LIBS      = $(foreach p,$(PARTS),$(BUILD)/libstrait-$(p).a)
sources   = $(sort $(shell find $(1) -name '*.c'))
# What is a module or a program of its own.
APART     = mpi/module/% codecs/profile/tabulate/%
objects   = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(APART),$(call sources,$(1))))
# What the profiles that ship say, read by the build: the archives find it where it is linked too.
TABLES    = $(BUILD)/codecs/profile/tables.o
TEST_SRC := $(sort $(shell find tests -name 'test_*.c'))
HARNESS  := $(filter-out tests/kit/runner/main.c,$(call sources,tests/kit))
SUITES    = $(BUILD)/tests/strait-tests
# make test TESTS=codecs/sz: suites whose paths begin so, or tests whose sentences have these words;
# SEED: for what is drawn; JOBS: suites at a time; JUNIT: a file for the results as XML.
TESTS    ?=
RUN_TESTS = $(SUITES) $(if $(JOBS),-j $(JOBS)) $(if $(SEED),--seed $(SEED)) $(if $(JUNIT),--junit $(JUNIT))

.DEFAULT_GOAL := all
.PHONY: all setup test test-quick test-threads tests-only programs demo agreement bench profile clean help
all: $(BUILD)/strait $(MPI_MODULE)

define HELP
Build
  make              build/strait (MODE=asan or tsan: build/asan/strait, ...)
  make demo         install what is missing, build, run the main job: 2 minutes
  make install      PREFIX=/usr/local, DESTDIR: program, library, data, manual
                    pages; make uninstall
  make deb          Debian packages in build/deb
  make library      libstrait, shared and static
  make vkernel      the guests' kernel, once: vkernel/linux, 4 minutes
  make qemu         the guest that counts instructions, once: qguest/, seconds
  make compile_commands.json  for editors
  make clean        remove build/
Test
  make test         set up, then all tests (MODE=asan or tsan: under sanitizers)
  make test TESTS=codecs/sz  suites by path, or tests by words of their names
                    ("'two words'"); SEED=1, JOBS=2 at a time, JUNIT=results.xml
  make test-quick   what takes a minute or two
  make lint         clang-format, cppcheck, clang-tidy, clang's analyzer: all
                    that changed
  make mutants      N=200 SEED=1: do the tests notice small changes?
  make coverage     lines that the tests reach, by folder: a quarter of an hour
  make fuzz         decoders, readers of traces: libFuzzer, FUZZ_S=2 each
  make fuzz-request what a browser may send to strait serve, likewise
  make faults       FAULTS=300 failing calls of each kind in six commands
  make soak         SOAK_S=3600 runs killed, stopped, given full disks
  make disturbed    N_DISTURBED=200 stops of processes of a run
  make uml          all checks of netem and tbf in User-Mode Linux: a minute
  make qemu-test    two guests that count instructions: the same digits
  make page-check   the page of strait serve in Chromium (chromium, npm)
  make report-check what strait report writes, likewise
  make python-check the Python module (python3-numpy, python3-torch)
  make torch-check  networks and optimisers against PyTorch's (python3-torch)
  make foreign      PyTorch's all-reduce and DDP over an emulated network
  make ns3-check    rounds by ns-3 beside predicted ones (libns3-dev), 10 min.
  make learn-check  the recorded runs, trained here from their own draws
  make published    published figures: every case that tests hold, a minute
Write what tests compare with, after an intended change
  make golden       bytes of every codec, with CC=clang or gcc
  make golden-runs  rows of tests/golden/runs.jsonl; CHANGED=1: all anew
  make screens      what commands print: tests/golden/*screens.md
  make settings     docs/settings.md: every setting of strategies, codecs, tasks
  make tutorial     what its commands say: docs/tutorial.md
  make determinism  one hash of all experiments' rows, gcc and clang: hours
Measure
  make bench        ratio, speed and error of every codec on this machine
  make bench-sim    simulations, beside bare SimGrid; LARGE=1: minutes
  make trace-large  a profile of 500 MB, written and read: memory and speed
  make page-moves   how soon the page answers a moved slider
  make profile      the profile that ships, codecs/profiles/default.json
  make learn-tables layer tables of tasks that train, traces/layers: a minute
  make claims-rows  train what 'strait compare --claims' needs: hours;
                    CLAIMS_ARGS=--plan says what is left, '--within 600' runs it
Hold predictions against emulation
  make vtest        the judged settings in virtual time: five minutes
  make strategies   every strategy, in virtual time: three minutes
  make scale        65 ranks: models of 12 and 102 MB
  make judged       the judged settings in every launcher: an hour
  make agreement    every judged setting in real time: hours
  make coverage-learn  drawn settings, from which intervals are learned: an hour
  make coverage-check  other ones: do intervals hold? docs/accuracy.md: an hour
  make coverage-again  both after a change of the model: seconds
endef
help:
	@: $(info $(HELP))

# Sub-makes: what a fresh machine lacks is there before anything asks for it. They compile on all
# processors where nobody says how many (-j).
PARALLEL = --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
setup:
	@./setup.sh
test: setup
	@$(MAKE) $(PARALLEL) tests-only
test-quick: setup
	@$(MAKE) $(PARALLEL) tests-only QUICK=--quick
# Under ThreadSanitizer no other suite is compiled, nor the program, which none of these starts.
THREADED = $(if $(filter tsan,$(MODE)),TEST_SRC="$(shell grep -l 'threads = true' $(TEST_SRC))" CLI_O= BESIDE=)
test-threads: setup
	@$(MAKE) $(PARALLEL) tests-only QUICK=--threads $(THREADED)
demo: setup
	@$(MAKE) $(PARALLEL) all
	@sh experiments/demo.sh $(BUILD)/strait

BESIDE = $(BUILD)/strait $(BUILD)/tests/faults.so $(BUILD)/tests/asked.so $(MPI_MODULE)
programs: $(SUITES) $(BESIDE)
tests-only: programs
	@$(RUN_TESTS) $(QUICK) $(TESTS)

# Every setting that the prediction is judged on, emulated: hours. Resumes where it was stopped.
agreement: all
	$(BUILD)/strait run experiments/agreement.json --on both --out results/agreement
	$(BUILD)/strait plot results/agreement --out results/agreement.png

# Ratios of one run: codecs side by side, against SZ3 where it is installed.
bench: all $(BUILD)/tests/bench_deepreduce
	@$(BUILD)/strait codec bench $$($(BUILD)/strait codec list sz3 >/dev/null 2>&1 && echo --against sz3:verify=no,isolate=no)
	@$(BUILD)/tests/bench_deepreduce

# What simulations cost, beside bare SimGrid and a naive loop: ratios of one run.
.PHONY: bench-sim
bench-sim: all $(BUILD)/tests/bench_simulation
	@$(BUILD)/tests/bench_simulation $(BUILD)/strait $(if $(LARGE),large)

# Every check of the kernel's links, with real netem, in User-Mode Linux (Debian's kernel, or where
# that does not boot the one of make vkernel): a minute.
.PHONY: uml
uml: programs
	@$(RUN_TESTS) -j 1 --long emu/guest/uml emu/guest/net_uml

# Kept outside of build/, which make clean removes: it depends on nothing there and takes minutes.
.PHONY: vkernel
vkernel:
	@sh emu/uml/vkernel.sh

# Every setting in the virtual-time guest; without make vkernel they are skipped.
.PHONY: vtest
vtest: programs
	@$(RUN_TESTS) --long emu/guest/virtual

# Predicted against emulated, undisturbed by what else this machine does. Three phases are outside
# of the tolerance (docs/model.md says why), so that it ends with status 1.
.PHONY: strategies
strategies: all vkernel
	$(BUILD)/strait run strategies --set "/network/client/rtt=20 ms" --on both --launcher vuml --no-break-even --out results/strategies

# What intervals are made of, and whether they hold: settings drawn by two seeds, emulated in
# virtual time, some seconds each. What was emulated is kept; coverage-again predicts it anew.
LEARN_SEEDS ?= 31 41 57 61 73
CHECK_SEED  ?= 109
N_LEARN     ?= 120
N_CHECK     ?= 120
COVERAGE   := results/coverage
KEPT        = tests/intervals/seed-$(1).jsonl.xz
INTERVALS  := STRAIT=$(BUILD)/strait python3 tests/intervals
.PHONY: coverage-learn coverage-check coverage-again coverage-table coverage-page
# Draw a seed's settings into a folder, with what is kept of their emulations.
define drawn
	python3 tests/intervals/draw.py $(1) $(2) $(COVERAGE)/$(3)
	test ! -f $(call KEPT,$(1)) || $(INTERVALS)/measure.py unpack $(call KEPT,$(1)) $(COVERAGE)/$(3)

endef
learning = $(foreach s,$(LEARN_SEEDS),$(call drawn,$(s),$(N_LEARN),learn))
coverage-learn: all vkernel
	$(learning)
	$(INTERVALS)/measure.py emulate $(COVERAGE)/learn
	$(foreach s,$(LEARN_SEEDS),$(INTERVALS)/measure.py keep $(COVERAGE)/learn $(call KEPT,$(s)) &&) true
	@$(MAKE) --no-print-directory coverage-table
coverage-check: all vkernel
	$(call drawn,$(CHECK_SEED),$(N_CHECK),check)
	$(INTERVALS)/measure.py emulate $(COVERAGE)/check
	$(INTERVALS)/measure.py keep $(COVERAGE)/check $(call KEPT,$(CHECK_SEED))
	@$(MAKE) --no-print-directory coverage-page
coverage-again: all
	$(learning)
	$(call drawn,$(CHECK_SEED),$(N_CHECK),check)
	@$(MAKE) --no-print-directory coverage-table
	@$(MAKE) --no-print-directory coverage-page
coverage-table:
	$(INTERVALS)/measure.py predict $(COVERAGE)/learn profile
	$(BUILD)/strait compare --coverage $(COVERAGE)/learn/predicted $(COVERAGE)/learn/out \
	    --learn experiments/accuracy/learned.csv >/dev/null
coverage-page:
	$(INTERVALS)/measure.py predict $(COVERAGE)/check
	$(INTERVALS)/page.py experiments/accuracy/learned.csv $(COVERAGE)/check >docs/accuracy.md.new
	mv docs/accuracy.md.new docs/accuracy.md
	$(BUILD)/strait compare --coverage $(COVERAGE)/check/predicted $(COVERAGE)/check/out

# Real training against the recorded curves of traces/curves.
.PHONY: learn-check
learn-check: programs
	$(SUITES) --here learn/recorded

# Published figures against the orders and errors that are known, those of 64 ranks too.
.PHONY: published
published: programs
	@$(RUN_TESTS) --long campaign/published

# The rows that `strait compare --claims` answers accuracies from: two hours of one core. What was
# stopped goes on; CLAIMS_ARGS=--plan says what is left and about how long, --within 600 runs what
# fits into ten minutes.
.PHONY: claims-rows
CLAIMS = $(BUILD)/claims
claims-rows: programs
	python3 tests/learn/claims_rows.py $(BUILD)/strait traces/trained.json $(CLAIMS) $(CLAIMS_ARGS)

# Uploads of 1 to 64 clients in every realisation and launcher that this machine can do, against
# virtual time and arithmetic; then round trips, rates, loss, odd links and incast in each of them.
.PHONY: judged
judged: programs
	@status=0; for t in emu/judge/judged emu/links/net emu/links/kernel_net emu/emu emu/conformance_emu \
		emu/process/connections cli/net/net_foreign campaign/agreement emu/guest/uml emu/guest/virtual; do \
		$(SUITES) --long --here $$t || status=1; done; exit $$status

# Outside of build/ too: another kernel would give other digits.
.PHONY: qemu qemu-test
qemu:
	@sh emu/qemu/prepare.sh
qemu-test: programs
	@$(RUN_TESTS) --long emu/guest/qemu

# 64 clients and a server, each with its own copy of the model: 12 and 102 MB in virtual time; 12 MB
# again in dilated real time (costs and sizes as calibrated there), and the difference. All are run
# and shown; what is INVALID or outside of the tolerance ends it with status 1. What decoding takes
# in a guest is often at the edge of that (docs/emulation.md).
SCALE = $(BUILD)/strait run experiments/scale.json --no-break-even
.PHONY: scale
scale: all vkernel
	@status=0; set -x; \
	$(SCALE) --on both --launcher vuml --out results/scale-12mb --set /model=gpt || status=$$?; \
	$(SCALE) --on both --launcher vuml --out results/scale-102mb --set /model=resnet50 || status=$$?; \
	$(SCALE) --on emu --realisation relay --timing replay --dilation 6 --set /model=gpt \
		--profile results/scale-12mb/profile.json --out results/scale-12mb-relay || status=$$?; \
	$(BUILD)/strait compare results/scale-12mb-relay results/scale-12mb || status=$$?; \
	exit $$status

# What makes calls of the system fail, for the suite "faults"; make faults tries up to FAULTS calls
# of each kind in each of six commands: hours for all of them.
FAULTS ?= 300
# And what notes which calls they make, for "faults/asked".
$(BUILD)/tests/faults.so: tests/faults/inject.c
$(BUILD)/tests/asked.so: tests/faults/record.c
$(BUILD)/tests/faults.so $(BUILD)/tests/asked.so:
	@mkdir -p $(@D)
	@echo "  link $@"
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -O1 -g -fPIC -shared -fvisibility=hidden -fno-builtin $(filter-out -Wpedantic,$(WARN)) -o $@ $< -ldl
.PHONY: faults
faults: programs
	@FAULTS=$(FAULTS) $(SUITES) --here faults/faults

# Runs killed, stopped and given full disks for SOAK_S seconds: nothing is lost, wrong or left.
SOAK_S ?= 3600
.PHONY: soak
soak: programs
	@SOAK_S=$(SOAK_S) $(SUITES) $(if $(SEED),--seed $(SEED)) --here faults/soak

# Processes of an emulated run stopped at N_DISTURBED drawn moments: a quarter of an hour.
N_DISTURBED ?= 200
.PHONY: disturbed
disturbed: programs
	@DISTURBED=$(N_DISTURBED) $(SUITES) $(if $(SEED),--seed $(SEED)) --here emu/judge/disturbed

# Programs that are too large to install for a test. FOREIGN_PYTHON has torch.
FOREIGN_PYTHON ?= /usr/bin/python3
.PHONY: foreign
foreign: all
	@sh tests/foreign/run.sh $(BUILD)/strait $(FOREIGN_PYTHON)

# The packet model against ns-3's: a program of its own, so that nothing else needs C++.
NS3_LIBS := $(addprefix -lns3-,point-to-point internet traffic-control network core)
.PHONY: ns3-check
ns3-check: all $(BUILD)/tests/ns3
	@python3 tests/foreign/ns3_check.py $(BUILD)/strait $(BUILD)/tests/ns3
$(BUILD)/tests/ns3: tests/foreign/ns3.cc
	@mkdir -p $(@D)
	@echo "  link $@"
	$(Q)$(CXX) -std=c++17 -O2 -Wall -o $@ $< $(NS3_LIBS) || \
	    { echo "ns3-check: needs ns-3 3.37 (apt install libns3-dev)" >&2; exit 3; }

# The Python module; what needs PyTorch is left out where FOREIGN_PYTHON has none.
.PHONY: python-check
python-check: all library
	@cd python && export PYTHONDONTWRITEBYTECODE=1 STRAIT=$(abspath $(BUILD))/strait \
	    STRAIT_LIBRARY=$(abspath $(BUILD))/$(SHARED) && $(FOREIGN_PYTHON) -m unittest tests.test_codec && \
	if $(FOREIGN_PYTHON) -c 'import torch' 2>/dev/null; then \
	    PYTHONPATH=. $(FOREIGN_PYTHON) -m unittest tests.test_torch; \
	else echo "python-check: without PyTorch: $(FOREIGN_PYTHON) has none (apt install python3-torch)"; fi

# Networks and optimisers against PyTorch's, half a minute; skipped where FOREIGN_PYTHON has none.
.PHONY: torch-check
torch-check: $(BUILD)/tests/learn_export
	@if $(FOREIGN_PYTHON) -c 'import torch' 2>/dev/null; then \
	    $(FOREIGN_PYTHON) tests/foreign/torch_check.py $(BUILD)/tests/learn_export; \
	else echo "torch-check: skipped: $(FOREIGN_PYTHON) has no torch (apt install python3-torch)"; fi
$(BUILD)/tests/learn_export: $(BUILD)/tests/foreign/learn_export.o $(LIBS)
	@echo "  link $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< -Wl,--start-group $(LIBS) -Wl,--end-group $(LDLIBS)

# The layer tables of tasks that train, measured anew on this machine: a minute.
LEARN_TABLES = quadratic fashion-mlp fashion-resnet char-transformer
.PHONY: learn-tables
learn-tables: $(BUILD)/tests/bench_layers
	@set -e; for task in $(LEARN_TABLES); do \
	    batch=32; [ $$task != char-transformer ] || batch=8; \
	    echo "  measure $$task"; $(BUILD)/tests/bench_layers $$task "{\"task\": \"$$task\", \"batch\": $$batch}" \
	        traces/layers/layers_$$task.csv traces/layers/iters_$$task.csv; done

# The bytes of every codec, and which damaged ones it refuses; a new codec's lines are added.
# clang's program has a folder of its own, and the first suite alone.
GOLDEN = $(if $(findstring clang,$(CC)),build/golden-clang,$(BUILD))
.PHONY: golden
golden:
	@$(MAKE) --no-print-directory $(GOLDEN)/tests/strait-tests $(if $(findstring clang,$(CC)),BUILD=$(GOLDEN) \
		PARTS="core codecs traces" TEST_SRC=tests/codecs/test_codec_golden.c)
	@STRAIT_WRITE_GOLDEN=1 $(GOLDEN)/tests/strait-tests --here codecs/codec_golden
	$(if $(findstring clang,$(CC)),,@STRAIT_WRITE_GOLDEN=1 $(SUITES) --here codecs/damaged_streams)

# Do the tests notice what is wrong? N changes drawn by SEED over all folders (IN=codecs: of one),
# each compiled and linked anew; suites that reach the changed line, as make coverage has counted,
# must fail. Ends with status 1 below 95 %. It takes 4 to 10 s of one processor a change, after one
# make coverage.
N  ?= 200
IN ?=
.PHONY: mutants coverage
mutants:
	@[ -e build/coverage/reach.json ] || $(MAKE) --no-print-directory coverage
	@JOBS=$(JOBS) python3 tests/mutants/run.py $(N) $(or $(SEED),1) $(IN)

# Lines that the suites reach, by folder: all of them or those of TESTS, with others as they were
# counted before. What runs in guests and what a signal ends cannot be counted.
coverage:
	@$(MAKE) --no-print-directory MODE=coverage programs
	@JOBS=$(JOBS) python3 tests/mutants/coverage.py build/coverage $(TESTS)

# One hash of the rows of every shipped experiment, by either compiler, with one worker and two.
.PHONY: determinism
determinism: all
	@$(MAKE) --no-print-directory CC=clang BUILD=build/clang build/clang/strait
	@python3 tests/golden/determinism.py $(BUILD)/strait build/clang/strait

# What chosen points of every experiment give: new ones added; CHANGED=1 after an intended change.
.PHONY: golden-runs tutorial settings screens
golden-runs: programs
	@STRAIT_WRITE_GOLDEN=$(if $(CHANGED),all,new) $(SUITES) --here campaign/golden_runs
	@STRAIT_WRITE_GOLDEN=$(if $(CHANGED),all,new) $(SUITES) -j 1 campaign/golden_rows
	@STRAIT_WRITE_GOLDEN=$(if $(CHANGED),all,new) $(SUITES) --here workloads/ask/misuses
	@STRAIT_WRITE_GOLDEN=$(if $(CHANGED),all,new) $(SUITES) -j 1 'as it was'
	@git --no-pager diff --stat -- tests/golden 2>/dev/null || true
tutorial: programs
	@STRAIT_WRITE_TUTORIAL=1 $(SUITES) --here docs/tutorial
settings: programs
	@STRAIT_WRITE_SETTINGS=1 $(SUITES) --here docs/settings_page
screens: programs
	@STRAIT_WRITE_SCREENS=1 $(SUITES) -j 1 'commands print what tests/golden'

# Pages in a browser, by a script of tests/page; npm's tools by page/package-lock.json.
define in_browser
@if ! command -v chromium >/dev/null || ! command -v npm >/dev/null; then \
    echo "$@: left out: chromium or npm is missing (apt install chromium npm)"; else \
    [ -e page/node_modules/puppeteer-core ] || (cd page && npm ci --ignore-scripts --no-fund --no-audit) && \
    cmp page/uplot/uPlot.iife.min.js page/node_modules/uplot/dist/uPlot.iife.min.js && \
    node tests/page/$(1).mjs "$(CURDIR)/$(BUILD)/strait" "$$(command -v chromium)" $(PICTURES); fi
endef

# The page: desktop and phone widths, keyboard, axe-core, slow and broken servers; how soon a moved
# slider's answer is on the screen (a benchmark, for a machine that does nothing else); and what
# strait report writes. PICTURES=DIR keeps what was seen.
.PHONY: page-check page-moves report-check
page-check: all
	$(call in_browser,check)
page-moves: all
	$(call in_browser,moves)
report-check: all
	$(call in_browser,report)
# Traces of 500 MB of all formats (FORMAT=ti), written and read: below 300 MB, above 100 MB/s.
.PHONY: trace-large
trace-large: all
	python3 tests/traces/import/large.py $(BUILD)/strait $(BUILD) $(FORMAT)

# Every decoder under libFuzzer, FUZZ_S seconds each, with clang and the sanitizers.
FUZZ_S ?= 2
FUZZ   := build/fuzz
FUZZ_C  = $(filter-out $(APART),$(call sources,core codecs traces))
.PHONY: fuzz
fuzz: setup
	@$(MAKE) --no-print-directory all $(FUZZ)/fuzz_decode $(FUZZ)/fuzz_import CC=$(CC)
	@sh tests/fuzz/run.sh $(CURDIR)/$(FUZZ)/fuzz_decode $(BUILD)/strait $(FUZZ_S)
	@mkdir -p $(FUZZ)/corpus; for seed in 1 2; do \
	    $(FUZZ)/fuzz_import -seed=$$seed -max_total_time=$$(( 5 * $(FUZZ_S) )) -rss_limit_mb=1024 -verbosity=0 \
	        $(FUZZ)/corpus tests/data/chakra experiments/traces & two="$$two $$!"; done; \
	    failed=0; for one in $$two; do wait $$one || failed=1; done; exit $$failed
$(FUZZ)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  compile $< for fuzzing"
	$(Q)clang $(filter-out -O3,$(ALL_CFLAGS)) -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -MD -MP -c -o $@ $<
$(FUZZ)/fuzz_%: $(FUZZ_C:%.c=$(FUZZ)/%.o) $(FUZZ)/tests/fuzz/fuzz_%.o
	@echo "  link $@"
	$(Q)clang -fsanitize=fuzzer,address,undefined -o $@ $^ $(LDLIBS)

# What a browser sends, likewise: its first lines, and the experiment in its body.
FUZZ_REQUEST_C = $(filter-out $(APART),$(call sources,$(filter-out analysis campaign lib serve,$(PARTS)))) serve/request.c serve/experiment_request.c tests/fuzz/fuzz_request.c
.PHONY: fuzz-request
fuzz-request: $(FUZZ)/fuzz_request
	@mkdir -p $(FUZZ)/request
	cd $(FUZZ)/request && STRAIT_SHARE=$(CURDIR) ../fuzz_request -max_total_time=$(FUZZ_S) -seed=1 -max_len=4096 \
	    -timeout=20 -rss_limit_mb=2048 . $(CURDIR)/tests/fuzz/request
$(FUZZ)/fuzz_request: $(FUZZ_REQUEST_C:%.c=$(FUZZ)/%.o)
	@echo "  link $@"
	$(Q)clang -fsanitize=fuzzer,address,undefined -o $@ $^ $(LDLIBS)

# The profile that ships: every codec as published, and what experiments/tradeoff.json asks beside.
SETTINGS = $(shell $(BUILD)/strait codec list --json | sed -n 's/^{"name":"\([a-z0-9]*\)".*"available":true.*/\1/p') \
    topk:ratio=0.1 qsgd:bucket=0 topk:error_feedback=no qsgd:levels=7 powersgd:rank=2 sz:error_feedback=yes sz:error_feedback=yes,range=0.3
profile: all
	$(BUILD)/strait calibrate codecs --title "codecs on the recorded tensors" --out codecs/profiles/default.json --force \
	    $(SETTINGS:%=--codec %)

# What editors and clang tools read: the compiler's command line of each file.
.PHONY: compile_commands.json
compile_commands.json:
	@mkdir -p build
	$(file >build/flags,$(CC) $(ALL_CFLAGS) -c)
	@flags=$$(sed 's/\\/\\\\/g; s/"/\\"/g' build/flags); separator='['; \
	{ for f in $(call sources,$(PARTS) cli tests); do \
	    printf '%s\n{"directory": "%s", "file": "%s", "command": "%s %s"}' "$$separator" "$(CURDIR)" $$f "$$flags" $$f; \
	    separator=,; done; printf '\n]\n'; } >$@
# Whether clang-format would change a line, and what cppcheck, clang-tidy and clang's analyzer (what
# scan-build runs, with its checkers) have to say, of all files that are newer than their last look:
# a quarter of an hour of two processors for the whole tree. The analyzer leaves tests out: a failed assertion goes on there, so that every
# later line may read nothing; the sanitizers run them. What is turned off stands in .clang-tidy and
# in .ci/*-suppressions.txt, with its reason.
LINT      := build/lint
LINT_C    := $(sort $(filter-out tests/foreign/% mpi/module/%,$(patsubst ./%,%,$(shell find $(PARTS) cli tests -name '*.c'))))
LINT_H    := $(sort $(shell find $(PARTS) cli tests -name '*.h'))
ANALYZE_C := $(filter-out tests/%,$(LINT_C))
ANALYZER_OFF = .ci/analyzer-suppressions.txt
LINT_FLAGS = -D_GNU_SOURCE -DSTRAIT_VERSION='"$(VERSION)"' -DSTRAIT_COMMIT='""' \
             -DSTRAIT_COMMIT_DATE='""' -DSTRAIT_MODE='"$(MODE)"'
.PHONY: lint lint-only
lint:
	@./setup.sh cppcheck clang clang-format clang-tidy
	@$(MAKE) --no-print-directory -k -j$(or $(JOBS),$$(nproc)) lint-only
	@echo "lint: nothing found in $(words $(LINT_C)) files"
lint-only: $(LINT)/format $(LINT)/cppcheck $(LINT_C:%=$(LINT)/%.tidy) $(ANALYZE_C:%=$(LINT)/%.analyzed)
# Of version 14; another one lays some lines out in another way.
$(LINT)/format: $(LINT_C) $(LINT_H) .clang-format
	@mkdir -p $(@D)
	@echo "  clang-format"
	$(Q)clang-format --dry-run -Werror $(LINT_C) $(LINT_H)
	@touch $@
$(LINT)/cppcheck: $(LINT_C) $(LINT_H) .ci/cppcheck.cfg .ci/cppcheck-suppressions.txt
	@mkdir -p $(@D)
	@echo "  cppcheck"
	@for f in $$(sed -n 's/.*<function name="\([a-z_]*\)".*/\1/p' .ci/cppcheck.cfg); do \
	    grep -rqw --include='*.[ch]' $$f $(PARTS) || { echo ".ci/cppcheck.cfg: no source has $$f"; exit 1; }; done
	$(Q)cppcheck -q --std=c11 --platform=unix64 --enable=warning,performance,portability --error-exitcode=1 \
	    --suppressions-list=.ci/cppcheck-suppressions.txt --library=posix,gnu --library=.ci/cppcheck.cfg \
	    -I. $(LINT_FLAGS) $(LINT_C)
	@touch $@
$(LINT)/%.tidy: % .clang-tidy tests/.clang-tidy
	@mkdir -p $(@D)
	@echo "  clang-tidy $<"
	$(Q)clang-tidy --quiet $< -- -std=c17 -iquote . $(LINT_FLAGS) 2>$@.log || { cat $@.log; exit 1; }
	$(Q)clang -MM -MP -MT "$@ $(@:.tidy=.analyzed)" -MF $@.d -std=c17 -iquote . $(LINT_FLAGS) $<
	@touch $@
$(LINT)/%.analyzed: % $(ANALYZER_OFF)
	@mkdir -p $(@D)
	@echo "  analyze $<"
	$(Q)clang --analyze -Xclang -analyzer-output=text -Xclang -analyzer-werror -std=c17 -iquote . $(LINT_FLAGS) \
	    $$(awk '$$1 == "$<" { for (i = 2; i <= NF; i++) print "-Xclang -analyzer-disable-checker -Xclang " $$i }' $(ANALYZER_OFF)) $<
	@touch $@
-include $(shell find $(LINT) -name '*.d' 2>/dev/null)

clean:
	rm -rf build

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  compile $<"
	$(Q)$(CC) $(ALL_CFLAGS) $(TEST_FLAGS) -MD -MP -c -o $@ $<

# Loops that choose between numbers vectorise: no value changes, only flags that nobody reads.
$(BUILD)/learn/%.o: ALL_CFLAGS += -fno-trapping-math

# Names the commit that it was built from, where that is known: compiled anew when that changes.
ifeq ($(origin COMMIT),undefined)
COMMIT      := $(shell git describe --always --dirty --exclude '*' 2>/dev/null)
COMMIT_DATE := $(shell git log -1 --format=%cs 2>/dev/null)
endif
$(BUILD)/cli/version.o: ALL_CFLAGS += -DSTRAIT_COMMIT='"$(COMMIT)"' -DSTRAIT_COMMIT_DATE='"$(COMMIT_DATE)"' -DSTRAIT_MODE='"$(MODE)"'
$(BUILD)/cli/version.o: $(BUILD)/commit
$(BUILD)/commit: FORCE
	@mkdir -p $(@D); echo "$(VERSION) $(COMMIT)" | cmp -s - $@ || echo "$(VERSION) $(COMMIT)" >$@

define part_rule
$$(BUILD)/libstrait-$(1).a: $$(call objects,$(1))
	@rm -f $$@
	$(Q)ar crs $$@ $$^
endef
$(foreach p,$(PARTS),$(eval $(call part_rule,$(p))))

# Programs answer from the tables only where a file is the very one that was read here.
PROFILES := $(sort $(wildcard codecs/profiles/*.json))
$(BUILD)/tabulate: $(BUILD)/codecs/profile/tabulate/tabulate.o $(BUILD)/libstrait-codecs.a $(BUILD)/libstrait-core.a
	@echo "  link $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)
$(TABLES:.o=.c): $(BUILD)/tabulate $(PROFILES)
	$(Q)$(BUILD)/tabulate $(PROFILES) >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(TABLES): $(TABLES:.o=.c)
	@echo "  compile $<"
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -iquote . -g1 -fPIC -fvisibility=hidden -MD -MP -c -o $@ $<

$(BUILD)/strait: $(call objects,cli) $(TABLES) $(LIBS)
	@echo "  link $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(call objects,cli) $(TABLES) $(ALLOCATOR) -Wl,--start-group $(LIBS) -Wl,--end-group $(LDLIBS)

# mpicc is asked for its compiler's options, so that CC and its warnings are the build's.
$(BUILD)/strait-mpi.so: mpi/module/module.c mpi/calls.h
	@mkdir -p $(@D)
	@echo "  link $@"
	$(Q)$(MPICC) -std=c17 -D_GNU_SOURCE -iquote . -O2 -g -fPIC -fvisibility=hidden $(WARN) $(WERROR) -shared -o $@ $<

# All tests are one program. Every file tests/.../test_NAME.c declares a suite, whose variable is
# the name of the file; the list of all is written here and read by tests/kit/runner/main.c.
# Tests are compiled once and run once: what optimises them takes longer than it saves, but for what
# they share (kit) and those that compute at length. So little of it hides values from the warnings
# that sanitizers hide them from.
TEST_O = $(if $(filter-out coverage,$(MODE)),$(1) $(BLINDED))
TEST_OPTIMISED := $(call TEST_O,-O0)
$(foreach d,kit learn codecs/sz codecs/deepreduce workloads/train/collectives,$(BUILD)/tests/$d/%.o) \
$(foreach t,codecs/test_codecs workloads/train/live/test_live_kfac,$(BUILD)/tests/$t.o): \
    TEST_OPTIMISED := $(call TEST_O,-O1)
$(BUILD)/tests/bench/%.o: TEST_OPTIMISED :=
$(BUILD)/tests/%.o: TEST_FLAGS = -DSTRAIT_TEST=$(basename $(@F)) $(TEST_OPTIMISED) $(if $(filter release,$(MODE)),-g) \
                                $(if $(filter coverage,$(MODE)),-fno-profile-arcs -fno-test-coverage)
$(BUILD)/tests/suites.c: FORCE
	@mkdir -p $(@D)
	@{ echo '/* Written by make. */'; echo '#include "tests/kit/runner/suites.h"'; \
	   for t in $(basename $(notdir $(TEST_SRC))); do echo "extern const struct strait_suite $$t;"; done; \
	   echo 'const struct strait_suite *const strait_suites[] = {'; \
	   for t in $(basename $(notdir $(TEST_SRC))); do echo "    &$$t,"; done; \
	   echo '};'; \
	   echo 'const unsigned strait_n_suites = sizeof(strait_suites) / sizeof(strait_suites[0]);'; } >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(BUILD)/tests/suites.o: $(BUILD)/tests/suites.c
	@echo "  compile $<"
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<
.PHONY: FORCE
FORCE:

$(BUILD)/tests/libkit.a: $(HARNESS:%.c=$(BUILD)/%.o)
	@rm -f $@
	$(Q)ar crs $@ $^

# The program's functions, but for main.
CLI_O = $(call objects,cli)
$(BUILD)/tests/libcli.a: $(filter-out $(BUILD)/cli/main.o,$(CLI_O))
	@rm -f $@
	$(Q)ar crs $@ $^

# Memory runs out and system calls fail where a test says so (tests/kit/failing); so clocks pass
# (tests/kit/failing/set_clock.h).
WRAPPED = $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc aligned_alloc strdup open_memstream \
          open read write fopen pipe2 fork mmap memfd_create socketpair ftruncate fsync fdatasync \
          fstat rename renameat2 mkdir flock socket connect accept4 setsockopt send recv \
          setns unshare mount ioctl signalfd epoll_create1 timerfd_create eventfd chdir bind \
          listen close clock_gettime)
$(SUITES) $(BUILD)/strait: $(filter %.o,$(COUNT_EXITS))
TEST_OBJECTS = $(TEST_SRC:%.c=$(BUILD)/%.o) $(BUILD)/tests/suites.o $(BUILD)/tests/kit/runner/main.o
$(SUITES): $(TEST_OBJECTS) $(TABLES) $(BUILD)/tests/libkit.a $(BUILD)/tests/libcli.a $(LIBS)
	@echo "  link $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(WRAPPED) -o $@ $(TEST_OBJECTS) $(TABLES) $(ALLOCATOR) -Wl,--start-group $(BUILD)/tests/libkit.a $(BUILD)/tests/libcli.a $(LIBS) -Wl,--end-group -lcunit $(LDLIBS)

$(BUILD)/tests/bench_%: $(BUILD)/tests/bench/bench_%.o $(BUILD)/tests/libkit.a $(LIBS)
	@echo "  link $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(ALLOCATOR) -Wl,--start-group $(BUILD)/tests/libkit.a $(LIBS) -Wl,--end-group -lcunit $(LDLIBS)

# --- installing ---------------------------------------------------------------------------------
# make install PREFIX=/usr DESTDIR=/tmp/package; the result may be moved as a whole.
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
SOVERSION := 0
SHARED  := libstrait.so.$(VERSION)
# What a run reads, by its path in the tree.
SHIPPED  = $(sort $(shell find experiments traces codecs/profiles \( -name '*.json' -o -name '*.csv' -o -name '*.f32' -o -name '*.ti' \)) \
           emu/uml/init.sh emu/uml/work.sh emu/uml/vcheck.sh emu/qemu/init.sh $(wildcard page/uplot/* page/report/* serve/page/*))
# Pages as they lie here, so that their links hold.
PAGES    = README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff LICENSE $(wildcard docs/*) \
           $(sort $(shell find examples -type f ! -path '*/__pycache__/*')) experiments/README.md traces/curves/README.md
COMPLETIONS = bash-completion/completions/strait zsh/site-functions/_strait fish/vendor_completions.d/strait.fish

.PHONY: library install uninstall
library: $(BUILD)/$(SHARED) $(BUILD)/libstrait.a

# Only what lib/strait.h declares with STRAIT_API can be seen from outside, in both libraries.
# Cloned functions are visible whatever the compiler is told: the linker and objcopy hide them.
$(BUILD)/$(SHARED): $(call objects,lib) $(TABLES) $(LIBS)
	@echo "  link $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-soname,libstrait.so.$(SOVERSION) -Wl,--no-undefined \
	    -Wl,--exclude-libs,ALL \
	    -o $@ $(call objects,lib) $(TABLES) -Wl,--start-group $(LIBS) -Wl,--end-group -Wl,--as-needed $(LDLIBS)
$(BUILD)/libstrait.a: $(call objects,lib) $(TABLES) $(LIBS)
	@echo "  archive $@"
	$(Q)$(LD) -r -o $(BUILD)/libstrait.o $(call objects,lib) $(TABLES) --start-group $(LIBS) --end-group
	$(Q)objcopy --localize-hidden --wildcard --keep-global-symbol='strait_*' $(BUILD)/libstrait.o
	@rm -f $@
	$(Q)ar crs $@ $(BUILD)/libstrait.o

# The static library is told PREFIX, where what ships lies if it is not beside a program that
# contains the library.
install: all library
	@set -eu; root="$(DESTDIR)"; prefix="$$root$(PREFIX)"; lib="$$root$(LIBDIR)"; share="$$prefix/share"; \
	install -d "$$prefix/bin" "$$lib/pkgconfig" "$$share/strait" "$$share/man/man1"; \
	install -m 755 $(BUILD)/strait "$$prefix/bin/strait"; \
	$(if $(MPI_MODULE),install -D -m 644 $(MPI_MODULE) "$$prefix/lib/strait/strait-mpi.so";) \
	install -m 644 $(BUILD)/$(SHARED) "$$lib"; \
	made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; \
	echo 'const char strait_installed_share[] = "$(PREFIX)/share/strait";' | \
	    $(CC) -x c -fPIC -fvisibility=hidden -c -o "$$made/share.o" -; \
	$(LD) -r -o "$$made/libstrait.o" $(BUILD)/libstrait.o "$$made/share.o"; \
	objcopy --localize-hidden "$$made/libstrait.o"; \
	ar crs "$$made/libstrait.a" "$$made/libstrait.o"; \
	install -m 644 "$$made/libstrait.a" "$$lib"; \
	ln -sf $(SHARED) "$$lib/libstrait.so.$(SOVERSION)"; \
	ln -sf libstrait.so.$(SOVERSION) "$$lib/libstrait.so"; \
	sed -e 's|@UP@|$(shell realpath -m --relative-to=$(LIBDIR)/pkgconfig $(PREFIX))|; s|@VERSION@|$(VERSION)|; s|@LIBS@|$(filter -l%,$(LDLIBS))|' lib/strait.pc.in >"$$lib/pkgconfig/strait.pc"; \
	chmod 644 "$$lib/pkgconfig/strait.pc"; \
	install -D -m 644 lib/strait.h "$$prefix/include/strait/strait.h"; \
	install -D -m 644 core/error_struct.h "$$prefix/include/strait/core/error_struct.h"; \
	for f in $(SHIPPED); do \
	    mode=644; [ ! -x "$$f" ] || mode=755; install -D -m $$mode "$$f" "$$share/strait/$$f"; done; \
	$(BUILD)/strait help --man-pages "$$share/man/man1"; \
	set -- bash zsh fish; for f in $(COMPLETIONS); do install -d "$$share/$$(dirname $$f)"; \
	    $(BUILD)/strait help --completion $$1 >"$$share/$$f"; chmod 644 "$$share/$$f"; shift; done; \
	for f in $(PAGES); do \
	    mode=644; [ ! -x "$$f" ] || mode=755; install -D -m $$mode "$$f" "$$share/doc/strait/$$f"; done; \
	echo "installed in $$prefix"

uninstall:
	@set -eu; root="$(DESTDIR)"; prefix="$$root$(PREFIX)"; lib="$$root$(LIBDIR)"; share="$$prefix/share"; \
	rm -rf "$$share/strait" "$$share/doc/strait" "$$prefix/include/strait"; \
	rm -rf "$$prefix/lib/strait"; \
	rm -f "$$prefix/bin/strait" "$$lib/$(SHARED)" "$$lib/libstrait.so.$(SOVERSION)" "$$lib/libstrait.so" \
	    "$$lib/libstrait.a" "$$lib/pkgconfig/strait.pc" "$$share/man/man1/strait.1" "$$share/man/man1/strait"-*.1; \
	for f in $(COMPLETIONS); do rm -f "$$share/$$f"; done

# Five Debian packages in build/deb, compiled from a copy of the tree as it stands.
DEB_TREE  = build/deb/strait-$(VERSION)
# Build-Depends by name, the first of alternatives.
DEB_NEEDS = build-essential dpkg-dev $(shell sed -n '/^Build-Depends:/,/^Standards/ { s/^Build-Depends://; /^Standards/d; p }' \
            debian/control | tr , '\n' | sed 's/^ *//; s/ .*//; s/debhelper-compat/debhelper/')
.PHONY: deb
deb:
	@./setup.sh $(DEB_NEEDS)
	@rm -rf build/deb && mkdir -p $(DEB_TREE)
	@{ git ls-files -co --exclude-standard -z 2>/dev/null || \
	    find . -type f ! -path './build/*' ! -path './results/*' ! -path './.git' -print0; } | \
	    tar -c --ignore-failed-read --null -T - 2>/dev/null | tar -x -C $(DEB_TREE)
	@{ echo "strait ($(VERSION)-1) unstable; urgency=medium"; echo; \
	   echo "  * Release $(VERSION); CHANGELOG.md says what is new."; echo; \
	   sed -n "s/^Maintainer: \(.*\)/ -- \1  $$(date -R -d '$(or $(COMMIT_DATE),today)')/p" debian/control; } >$(DEB_TREE)/debian/changelog
	cd $(DEB_TREE) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL COMMIT=$(COMMIT) COMMIT_DATE=$(COMMIT_DATE) \
	    dpkg-buildpackage --build=binary --no-sign $(if $(JOBS),-j$(JOBS),-j2) >../build.log 2>&1 || { tail -20 ../build.log; exit 1; }
	@rm -rf $(DEB_TREE)
	@ls build/deb/*.deb

.PRECIOUS: $(BUILD)/%.o $(FUZZ)/%.o
-include $(foreach p,$(PARTS) cli tests,$(shell find $(BUILD)/$(p) -name '*.d' 2>/dev/null))
