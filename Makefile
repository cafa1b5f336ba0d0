# Python 3.11 with pip, a Rust toolchain, make and a C compiler are enough: everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell git ls-files rust python Cargo.toml Cargo.lock pyproject.toml README.md 2>/dev/null)

.PHONY: help lock latest order clock wheel wheels reproducible release-check try-wheels test-musl check-crates check-workflows demo test test-rust test-python test-portable test-v128 test-aarch64 lint docs site browser conformance adapters adapters-few bench-adapters data data-check worth fields record nightly lint-bare slow full proof reliability memory memory-python fuzz fuzz-short fuzz-planted clean

help: ## list the targets
	@grep -E '^[a-z%-]+:.* ## ' Makefile | sed -E 's/^([a-z-]+)(%?):.* ## /  make \1\2 - /; s/%/NAME/'

# Environments are installed from files of exact versions with hashes: requirements/, written by `make lock`. There is one
# package of ours in .venv, that of the last build: a stamp goes when the other profile is installed.
INSTALL = $(PYTHON) tools/environment.py

.venv/build: requirements/build.txt requirements/uv.txt tools/environment.py
	@$(INSTALL) .venv requirements/build.txt
	@touch $@

.venv/release: .venv/build $(SOURCES)
	rm -rf .venv/built
	$(BIN)/maturin build --release --locked --quiet --out .venv/built
	@$(INSTALL) --wheel .venv .venv/built/*.whl
	@rm -f .venv/checked && touch $@

# ctok asks for Python 3.12 and runs on 3.11. Tests read a file out of the source of claude-agent-sdk.
.venv/dev: $(addprefix requirements/,dev.txt ctok.txt claude-agent-sdk.txt uv.txt) tools/environment.py
	@$(INSTALL) .venv requirements/dev.txt
	@$(INSTALL) .venv/wheels requirements/ctok.txt --download="--python-version 3.12 --only-binary=:all:"
	@$(INSTALL) .venv/wheels requirements/claude-agent-sdk.txt --download="--no-binary=:all: --no-build-isolation"
	@touch $@

.venv/checked: .venv/dev $(SOURCES)
	rm -rf dist
	$(BIN)/maturin build --profile checked --locked --quiet --out dist
	@$(INSTALL) --wheel .venv dist/*.whl
	@rm -f .venv/release && touch $@

lock: ## write requirements/*.txt from the ranges of pyproject.toml; ARGS=--upgrade takes the newest releases
	@$(PYTHON) tools/lock.py $(ARGS)

adapters adapters-few: .venv/checked ## the adapters' tests, each framework in an environment of its own; adapters-few: those of CI
	@$(BIN)/python tools/adapters.py $(if $(filter adapters-few,$@),--few) $(ARGS)

bench-adapters: .venv/checked # a stub agent in each framework, with its own compaction and with ours
	@$(BIN)/python tools/adapters.py --bench $(ARGS)

latest: .venv/checked # every range resolved anew, the newest and the lowest releases: a table of what passes
	@$(BIN)/python tools/latest.py $(ARGS)

# The harness asks for one release of pydantic-ai-slim, which would replace that of the tests; its compaction runs with theirs.
.venv/rivals: .venv/dev requirements/rivals.txt requirements/harness.txt
	@$(INSTALL) .venv requirements/rivals.txt requirements/harness.txt
	@touch $@

wheel: .venv/dev ## build the release wheel into dist/
	$(BIN)/maturin build --release --locked --quiet --compression-level 9 --out dist

# Tools that build and judge wheels stand apart: zig alone is 100 MB.
.venv/packaging: .venv/dev requirements/packaging.txt
	@$(INSTALL) $@ requirements/packaging.txt && touch $@

wheels: .venv/packaging ## build and check every wheel that this machine can build, and the source distribution
	@.venv/packaging/bin/python tools/wheels.py $(ARGS)

try-wheels: .venv/dev # the wheel in dist/ in each Python of the machine, and in a root without compilers
	@$(BIN)/python tools/try_wheels.py $(ARGS)

test-musl: .venv/packaging .venv/checked # the musl wheel in a CPython that zig builds against musl; root, on Debian
	@.venv/packaging/bin/python tools/musl.py

reproducible: .venv/dev # two builds of the commit in two folders: one digest; ARGS="--profile dev" is faster
	@$(BIN)/python tools/reproducible.py $(ARGS)

release-check: .venv/dev # the checklist of a release, without publishing anything
	@$(BIN)/python tools/release.py

check-crates: # licences, sources and double versions of what is built in; needs cargo-deny
	cargo deny check licenses bans sources

check-workflows: .venv/packaging # the workflow files by zizmor, without a network
	@.venv/packaging/bin/zizmor --offline --persona pedantic .github/workflows

demo: .venv/release ## compact a recorded session and show what happened
	@$(BIN)/python examples/demo.py

test: ## format, lints, types, Rust tests, Python tests: what must pass before a change is merged
	@$(PYTHON) tools/parts.py .venv/checked lint test-rust test-python test-v128

test-rust: .venv/checked
	cargo test --locked --profile checked --workspace --quiet

test-python: .venv/checked
	$(BIN)/python -m pytest -p no:benchmark -n 2 --dist worksteal $(ARGS)

test-portable test-v128: .venv/checked
	TRIMTAB_SIMD=$(@:test-%=%) cargo test --locked --profile checked --workspace --lib --tests --quiet
	TRIMTAB_SIMD=$(@:test-%=%) $(BIN)/python -m pytest -p no:benchmark -n 2 --dist worksteal $(ON_ANY_PAGE)

# What counts, reads and cuts text by vector instructions, once more by narrower ones and without any.
ON_ANY_PAGE = $(addprefix tests/,unit/counting/test_counter_parts.py unit/counting/test_claude.py behaviour/test_json.py unit/counting/test_truncate.py)

# The compiler's aarch64 library is rustup's, or that of Debian's rustc-web. An emulated thread hangs where the loader finds
# the libc of an arm64 package in the place of the cross compiler's.
ARM := aarch64-unknown-linux-gnu
ARM_ROOT := /usr/aarch64-linux-gnu
ARM_RUSTC = $(if $(wildcard $(shell rustc --print target-libdir --target $(ARM))),rustc,/usr/bin/rustc)

test-aarch64: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER = aarch64-linux-gnu-gcc
test-aarch64: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER = \
	qemu-aarch64 -L $(ARM_ROOT) -E LD_LIBRARY_PATH=$(ARM_ROOT)/lib
test-aarch64: ## the Rust tests on an emulated aarch64 processor: NEON; CONTRIBUTING.md has the packages
	RUSTC=$(ARM_RUSTC) cargo test --locked --profile checked --target $(ARM) \
		-p trimtab-simd -p trimtab-tokens -p trimtab-core --lib --quiet

lint: .venv/checked
	cargo fmt --all --check
	cargo clippy --locked --profile checked --workspace --all-targets --features trimtab-core/bench --quiet -- -D warnings
	cargo clippy --locked --profile checked -p trimtab-core --features trimtab-simd/portable --quiet -- -D warnings
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/vulture | (! grep "^python/")
	$(BIN)/mypy --strict python/trimtab tests/typing
	$(BIN)/python -m mypy.stubtest trimtab._core --concise

docs: .venv/checked ## write the tables in docs/: problem codes, what is due when, configuration keys, requirements, failures of a summarizer, options, frameworks; the README's picture
	@for table in codes due keys requirements summarizers options frameworks scale; do \
		PYTHONPATH=tests:tests/conformance $(BIN)/python tools/$$table.py || exit 1; \
	done
	PYTHONPATH=tests $(BIN)/python tools/fields.py --docs
	$(BIN)/python tools/picture.py
	$(BIN)/python tools/api.py

site: .venv/checked ## write the documentation site into target/site; strict, fetches nothing
	@$(BIN)/zensical build --strict --clean

browser: .venv/checked ## the report in Chromium: scripts, requests, keyboard, contrast
	@$(BIN)/python -m pytest -p no:benchmark tests/unit/report/test_report_browser.py $(ARGS)

conformance: .venv/checked ## print how many published cases hold, with parity and without, and why the others differ
	@PYTHONPATH=tests:tests/conformance $(BIN)/python tools/conformance.py

.venv/fields: requirements/fields.txt .venv/checked
	@$(INSTALL) $@ requirements/fields.txt
	@$(INSTALL) --wheel $@ dist/*.whl
	@touch $@

fields: .venv/fields ## what each sender puts into its usage, and what is read of it, by the real classes
	@LITELLM_LOCAL_MODEL_COST_MAP=True PYTHONPATH=tests .venv/fields/bin/python tools/fields.py $(ARGS)

# The wheels of two public tables of models; LiteLLM's has 41 MB and is not installed.
.venv/tables: .venv/dev requirements/tables.txt
	rm -rf $@
	@$(INSTALL) $@ requirements/tables.txt --download=--only-binary=:all:

data data-check: .venv/tables # write the catalog of models anew; compare its windows with a second public table
	@PYTHONPATH=python $(BIN)/python tools/models.py .venv/tables/litellm-*.whl .venv/tables/genai_prices-*.whl $(if $(filter data-check,$@),--check)

worth: .venv/dev ## learn the summarizer's weights anew from tools/worth, and print their card; ARGS=--check only compares
	@PYTHONPATH=tests:tests/conformance $(BIN)/python tools/learn_worth.py $(ARGS)

.venv/open: .venv/dev requirements/open.txt
	rm -rf $@
	@$(INSTALL) $@ requirements/open.txt --download=--only-binary=:all:

bench-open: .venv/open

.venv/templates: .venv/dev .venv/release requirements/templates.txt
	@$(INSTALL) $@ requirements/templates.txt
	@$(INSTALL) --wheel $@ .venv/built/*.whl
	@touch $@

bench-open-prompts: .venv/open .venv/templates # whole prompts of open models, beside transformers
	@.venv/templates/bin/python benches/open_prompts.py $(ARGS)

# Engines stand apart, as their tests do.
.venv/engines: .venv/dev .venv/release requirements/adapter-batch.txt
	@$(INSTALL) $@ requirements/adapter-batch.txt
	@$(INSTALL) --wheel $@ .venv/built/*.whl
	@touch $@

bench-batch: .venv/engines # jobs over 10,000 files, and over one of 5 GB
	@.venv/engines/bin/python benches/batch.py $(ARGS)

bench-%: benches/%.py .venv/dev .venv/release .venv/rivals ## measure speed: benches/NAME.py, benches/test_NAME.py; ARGS=--small tries it
	@$(BIN)/python $< $(ARGS)

bench-%: benches/test_%.py .venv/dev .venv/release .venv/rivals
	@mkdir -p target
	@$(BIN)/python -m pytest $< --benchmark-json=target/bench-$*.json $(ARGS)

bench-%: rust/core/benches/%.rs
	cargo bench --locked --quiet --package trimtab-core --features bench --bench $* -- $(ARGS)

# A plugin of pytest, so it is not installed where the tests run.
.venv/kit: .venv/dev requirements/kit.txt
	rm -rf $@
	@$(INSTALL) $@ requirements/kit.txt --download=--only-binary=:all:

eval-summaries: evals/summaries.py .venv/dev .venv/release .venv/kit # what compactions keep: a gate; ARGS=--quick
	@PYTHONPATH=$$(echo .venv/kit/*.whl) $(BIN)/python $< $(ARGS)

eval-%: evals/%.py .venv/dev .venv/release ## run evals/NAME.py: accuracy, where bench is speed
	@$(BIN)/python $< $(ARGS)

nightly: ## all that takes minutes or hours, on the release build; goes on where it was interrupted; ARGS=proof for a part
	@$(PYTHON) tools/nightly.py $(ARGS)

lint-bare: # the core without its optional features
	cargo clippy --locked -p trimtab-core --no-default-features --quiet -- -D warnings

slow: .venv/dev .venv/release ## Python tests that take minutes; ARGS=tests/unit/counting/test_claude.py for one file
	@$(BIN)/python -m pytest -s --show-capture=no -m slow $(ARGS)

order: .venv/checked # the tests of make test three times in a random order, whose seeds are printed
	@for run in 1 2 3; do \
		seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d " "); echo "--randomly-seed=$$seed"; \
		$(BIN)/python -m pytest -p no:benchmark -p randomly --randomly-seed=$$seed -n 2 --dist worksteal $(ARGS) || exit 1; \
	done

# Debian's faketime breaks time.sleep of CPython; that of the package fakes no clock but the date's. The date is an offset,
# so that it goes on in every process that a test starts. Left out is what measures processor time, of which the library
# takes some, and what forks beside threads, where a lock of the library can stay shut for good.
.venv/clock: .venv/dev requirements/clock.txt
	@$(INSTALL) $@ requirements/clock.txt && touch $@

clock: .venv/checked .venv/clock # the tests of make test on 1 January 2028
	@FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME=+$$(($$(date -d 2028-01-01 +%s) - $$(date +%s)))s \
		LD_PRELOAD=$$(find $(CURDIR)/.venv/clock -name "libfaketime.so.1") \
		$(BIN)/python -m pytest -p no:benchmark -n 2 --dist worksteal \
		--deselect tests/faults/test_process.py::test_an_interrupt_stops_long_work \
		--deselect tests/faults/test_archive_faults.py $(ARGS)

full: .venv/dev .venv/release # the tests of make test with all examples of each property
	@TESTS_PERCENT=100 $(BIN)/python -m pytest -p no:benchmark -n auto --dist worksteal $(ARGS)

proof: .venv/dev .venv/release # no compacted list is invalid: every short list, and 50,000 histories; ARGS="lists=3"
	cargo test --locked --release --package trimtab-core --test proof -- --include-ignored --nocapture
	@PYTHONPATH=tests $(BIN)/python -m proofs.validity $(ARGS)

reliability: .venv/dev .venv/release # archive fault injection: SIGKILL, full disk, dropped connections, concurrency
	@PYTHONPATH=tests $(BIN)/python -m faults.reliability $(ARGS)

# The runner is what Cargo starts a test with.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
RUNNER = CARGO_TARGET_$(shell echo $(HOST) | tr a-z- A-Z_)_RUNNER

memory: # the engine's tests under AddressSanitizer, then under valgrind
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/asan \
		cargo test --locked -p trimtab-simd -p trimtab-tokens --lib --target $(HOST)
	$(RUNNER)="valgrind --quiet --error-exitcode=1" cargo test --locked -p trimtab-simd -p trimtab-tokens --lib

memory-python: .venv/dev # the extension under AddressSanitizer, gcc's; pymalloc would hide Python's objects from it
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/asan cargo build --locked --profile checked \
		-p trimtab-python --features pyo3/extension-module --target $(HOST)
	rm -rf target/asan/python && cp -r python target/asan/python && rm -f target/asan/python/trimtab/_core.abi3.so
	cp target/asan/$(HOST)/checked/lib_core.so target/asan/python/trimtab/_core.abi3.so
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
		PYTHONMALLOC=malloc PYTHONPATH=target/asan/python $(BIN)/python -m pytest -p no:benchmark -k "not postgres" \
		$(addprefix tests/,unit/messages/test_removed_parts.py unit/ledger/test_seen.py unit/messages/test_objects.py behaviour/test_json.py \
		unit/session/test_session.py unit/session/test_read_without_calls.py)

fuzz: # a minute of each fuzz target; SECONDS=600 for more, ARGS=engine for one
	@$(PYTHON) fuzz/run.py --seconds $(or $(SECONDS),60) $(ARGS)

fuzz-%: # one fuzz target
	@$(PYTHON) fuzz/run.py --seconds $(or $(SECONDS),60) $*

fuzz-short: ## a minute of all fuzz targets, as in CI, from one seed; `make fuzz` takes another one each time
	@$(PYTHON) fuzz/run.py --seconds 7 --seed 1

fuzz-planted: # that each fuzz target finds a bug: in how many runs
	@$(PYTHON) fuzz/run.py --planted $(ARGS)

record: .venv/dev .venv/release ## record the example session anew on the repository as it is
	@$(BIN)/python examples/record.py
	@$(BIN)/python -m pytest -m slow tests/project/test_examples.py

clean: ## remove everything that was built
	rm -rf .venv dist target fuzz/target
