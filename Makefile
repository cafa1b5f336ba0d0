# Each target makes its own environment: Python 3.11, a Rust toolchain, make and a C compiler are enough.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell git ls-files rust python Cargo.toml Cargo.lock pyproject.toml README.md 2>/dev/null)

.PHONY: help demo test lint sessions summaries sdks startup bench-jsonl huge bench-count bench-bill bench-claude claude claude-rates reliability agent record clean

help:            ## the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1 - /'

.venv/tools: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check "maturin>=1.10,<2" "numpy>=1.26,<3"
	@touch $@

# The release wheel, installed: what is shown and tested is what users get.
.venv/wheel: .venv/tools $(SOURCES)
	rm -rf dist
	$(BIN)/maturin build --release --quiet --out dist
	$(BIN)/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps dist/*.whl
	@touch $@

.venv/dev: .venv/wheel pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[dev]"
	$(BIN)/pip download --quiet --disable-pip-version-check --no-deps --python-version 3.12 --only-binary=:all: \
		--dest .venv/wheels "ctok==1.3.0"
	$(BIN)/pip download --quiet --disable-pip-version-check --no-deps --no-binary=:all: \
		--dest .venv/wheels "claude-agent-sdk==0.2.187"
	@touch $@

demo: .venv/wheel ## compact a recorded session and show what happened
	@$(BIN)/python examples/demo.py

test: lint ## format, lints, types, Rust tests, Python tests
	cargo test --workspace --quiet
	$(BIN)/python -m pytest

lint: .venv/dev
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features trimtab-core/bench --quiet -- -D warnings
	cargo clippy -p trimtab-tokens --no-default-features --quiet -- -D warnings
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --strict python/trimtab tests/typing
	$(BIN)/python -m mypy.stubtest trimtab._core --concise

sessions: .venv/dev ## every shared session, compacted and judged
	@$(BIN)/python evals/sessions.py

summaries: .venv/dev ## what the offline summarizer keeps, beside simpler extracts
	@$(BIN)/python evals/summaries.py

# A rival that does not install is one row less, said by the bench.
.venv/rivals: .venv/dev
	@for rival in "tiktoken>=0.14,<0.15" gigatoken fastokens toktok-rs tokenizers; do \
		$(BIN)/pip install --quiet --disable-pip-version-check "$$rival" || echo "$$rival does not install here"; \
	done
	@touch $@

bench-count: .venv/rivals ## counting beside tiktoken and four others: MB/s, ratios, mismatches
	@$(BIN)/python benches/count.py $(ARGS)
	@$(BIN)/python benches/calls.py

.PHONY: bench-threads
bench-threads: .venv/dev ## what two threads gain over one, beside what two processes do
	@$(BIN)/python benches/threads.py

.PHONY: bench-parts
bench-parts:     ## the core's parts one by one, by Criterion; ARGS=count for some
	cargo bench --quiet --package trimtab-core --features bench --bench parts -- $(ARGS)

bench-bill: .venv/dev ## counts beside what providers charged, in every shared session
	@$(BIN)/python evals/bill.py

agent: .venv/dev ## 300 turns of an agent under every policy, against a server as strict as the provider
	@$(BIN)/python -m pytest -s --show-capture=no -m "slow or not slow" tests/proofs/test_agent.py

.PHONY: bad-data interrupts
bad-data: .venv/dev ## strings of 100 MB, runs of a million, ten million messages, 70,000 broken lists: time and memory
	@$(BIN)/python -m pytest -s -m slow tests/faults/test_bad_data.py tests/faults/test_bad_quantities.py

interrupts: .venv/dev ## three hundred signals in long work: what was done after each, and for how long
	@$(BIN)/python -m pytest -s -m slow tests/faults/test_process.py

record: .venv/dev ## the example session, recorded anew on the repository as it is
	@$(BIN)/python examples/record.py
	@$(BIN)/python -m pytest -m slow tests/test_examples.py

sdks: .venv/dev ## releases of the summarizers' clients, each through the matrix of failures
	$(BIN)/python -m pytest -s -m slow tests/faults/test_summarize_sdks.py

claude-rates: .venv/dev ## the estimate that stands in for Claude's vocabularies: its errors by repository
	@$(BIN)/python rust/tokens/data/claude_rates.py $(ARGS)

.PHONY: bench-pairs
bench-pairs: .venv/dev ## counts beside what was charged for recorded texts, by kind of content
	@$(BIN)/python evals/pairs.py

bench-claude: .venv/dev ## Claude's encodings beside ctok: MB/s, ratios, differences
	@$(BIN)/python benches/claude.py $(ARGS)

claude: .venv/dev ## a million generated texts, counted as by ctok
	@$(BIN)/python -m pytest -m slow tests/test_claude.py

reliability: .venv/dev ## what befalls an archive: kills, full disks, cut lines, crowds; and its figures
	@$(BIN)/python benches/reliability.py
bench-jsonl: .venv/dev ## JSONL to a ledger, reading alone, beside orjson: MB/s and ratios
	@$(BIN)/pip install --quiet --disable-pip-version-check "orjson>=3.11,<4"
	@$(BIN)/python benches/jsonl.py

huge: .venv/dev ## two gigabytes of messages, and a line of one, counted: memory
	@$(BIN)/python -m pytest -m slow -s tests/test_files.py

.PHONY: proof codes
proof: .venv/dev ## that no list is refused: every short list, and 50,000 histories
	cargo test --release --package trimtab-core --test proof -- --include-ignored --nocapture
	@$(BIN)/python benches/validity.py

.PHONY: bench-scan
bench-scan: .venv/dev ## reading and judging a million messages, beside plain Python: ns a message
	@$(BIN)/python benches/scan.py $(ARGS)

codes: .venv/dev ## the table of problem codes in docs/validity.md
	@$(BIN)/python tools/codes.py

startup: .venv/dev ## what an import and the first calls cost
	@$(BIN)/python benches/startup.py

.PHONY: counts memory fuzz
counts: .venv/dev ## 1,000,000 generated texts beside tiktoken
	@$(BIN)/python -m pytest -m slow tests/test_counter_generated.py

# The runner is what Cargo starts a test with.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
RUNNER = CARGO_TARGET_$(shell echo $(HOST) | tr a-z- A-Z_)_RUNNER

memory:          ## the engine's tests under AddressSanitizer, then under valgrind
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/asan \
		cargo test -p trimtab-tokens --lib --target $(HOST)
	$(RUNNER)="valgrind --quiet --error-exitcode=1" cargo test -p trimtab-tokens --lib

fuzz:            ## a minute of each fuzz target; SECONDS=600 for more, ARGS=engine for one
	@$(PYTHON) fuzz/run.py --seconds $(or $(SECONDS),60) $(ARGS)

.PHONY: fuzz-short fuzz-planted
fuzz-short:      ## a minute of all fuzz targets, as in CI
	@$(PYTHON) fuzz/run.py --seconds 7

fuzz-planted:    ## that each fuzz target finds a bug: in how many runs
	@$(PYTHON) fuzz/run.py --planted $(ARGS)

clean:           ## everything that was built
	rm -rf .venv dist target fuzz/target

.PHONY: bench-plan requirements
bench-plan: .venv/dev ## deciding on a million messages, beside a plain partition and LangChain's search
	@$(BIN)/pip install --quiet --disable-pip-version-check "langchain>=1,<2" || echo "LangChain does not install here"
	@$(BIN)/python benches/plan.py $(ARGS)

requirements: .venv/dev ## docs/dev/requirements.md: each requirement with the case or test that shows it
	@$(BIN)/python tests/conformance/table.py

.PHONY: presets
presets: .venv/dev ## every preset on every shared session, its summary asked of a model on this machine that fails in six ways
	@$(BIN)/python -m pytest -q -s -m slow tests/proofs/test_presets_sessions.py

.PHONY: keys
keys: .venv/dev ## the table of keys in docs/configuration.md
	@$(BIN)/python tools/keys.py
