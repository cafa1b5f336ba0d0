# Python 3.11 with pip, a Rust toolchain, make and a C compiler are enough: everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell git ls-files rust python Cargo.toml Cargo.lock pyproject.toml README.md 2>/dev/null)
PIP := $(BIN)/pip --disable-pip-version-check --quiet

.PHONY: help wheel demo test lint docs browser conformance adapters adapters-oldest bench-adapters data data-check record nightly slow full proof reliability memory fuzz fuzz-short fuzz-planted clean

help: ## list the targets
	@grep -E '^[a-z%-]+:.* ## ' Makefile | sed -E 's/^([a-z-]+)(%?):.* ## /  make \1\2 - /; s/%/NAME/'

# There is one package in .venv, that of the last build: a stamp goes when the other profile is installed.
.venv/pyvenv.cfg:
	$(PYTHON) -m venv .venv

.venv/release: .venv/pyvenv.cfg $(SOURCES)
	$(PIP) install .
	@rm -f .venv/checked && touch $@

# ctok asks for Python 3.12 and runs on 3.11. Tests read a file out of the source of claude-agent-sdk.
.venv/dev: .venv/pyvenv.cfg pyproject.toml
	$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*p["dependencies"], *p["optional-dependencies"]["dev"], sep="\n")' > .venv/requirements.txt
	$(PIP) install -r .venv/requirements.txt
	$(PIP) download --no-deps --python-version 3.12 --only-binary=:all: --dest .venv/wheels "ctok==1.3.0"
	$(PIP) download --no-deps --no-binary=:all: --dest .venv/wheels "claude-agent-sdk==0.2.187"
	@touch $@

.venv/checked: .venv/dev $(SOURCES)
	rm -rf dist
	$(BIN)/maturin build --profile checked --quiet --out dist
	$(PIP) install --force-reinstall --no-deps dist/*.whl
	@rm -f .venv/release && touch $@

adapters: .venv/checked ## the adapters' tests, against the current release of each framework
	@$(BIN)/python tools/adapters.py $(ARGS)

adapters-oldest: .venv/checked # the same, against the oldest releases that the extras name
	@$(BIN)/python tools/adapters.py --oldest $(ARGS)

bench-adapters: .venv/checked # a stub agent in each framework, with its own compaction and with ours
	@$(BIN)/python tools/adapters.py --bench "$(HARNESS)" $(ARGS)

# A rival that does not install is one row less, said by the bench. The harness asks for one release of pydantic-ai-slim,
# which would replace that of the tests; its compaction runs with theirs.
HARNESS = pydantic-ai-harness>=0.62,<1
.venv/rivals: .venv/dev
	@for rival in "tiktoken>=0.14,<0.15" gigatoken fastokens toktok-rs tokenizers "orjson>=3.11,<4" "langchain>=1,<2" "agent-framework-core>=1.23,<2"; do \
		$(PIP) install "$$rival" || echo "$$rival does not install here"; \
	done
	@$(PIP) install --no-deps "$(HARNESS)" || echo "pydantic-ai-harness does not install here"
	@touch $@

wheel: .venv/dev ## build the release wheel into dist/
	$(BIN)/maturin build --release --quiet --compression-level 9 --out dist

demo: .venv/release ## compact a recorded session and show what happened
	@$(BIN)/python examples/demo.py

test: lint ## format, lints, types, Rust tests, Python tests: what must pass before a change is merged
	cargo test --profile checked --workspace --quiet
	$(BIN)/python -m pytest -p no:benchmark -n 2 --dist worksteal
	TRIMTAB_SIMD=portable cargo test --profile checked --workspace --lib --tests --quiet
	TRIMTAB_SIMD=portable $(BIN)/python -m pytest -p no:benchmark -n 2 --dist worksteal $(ON_ANY_PAGE)

# What counts, reads and cuts text by vector instructions, once more without them.
ON_ANY_PAGE = $(addprefix tests/test_,counter_parts.py claude.py json.py truncate.py)

lint: .venv/checked
	cargo fmt --all --check
	cargo clippy --profile checked --workspace --all-targets --features trimtab-core/bench --quiet -- -D warnings
	cargo clippy --profile checked -p trimtab-core --features trimtab-simd/portable --quiet -- -D warnings
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/vulture | (! grep "^python/")
	$(BIN)/mypy --strict python/trimtab tests/typing
	$(BIN)/python -m mypy.stubtest trimtab._core --concise

docs: .venv/checked ## write the tables in docs/: problem codes, configuration keys, requirements, failures of a summarizer
	@for table in codes keys requirements summarizers; do \
		PYTHONPATH=tests:tests/conformance $(BIN)/python tools/$$table.py || exit 1; \
	done

browser: .venv/checked ## the report in Chromium: scripts, requests, keyboard, contrast
	@$(BIN)/python -m pytest -p no:benchmark tests/test_report_browser.py $(ARGS)

conformance: .venv/checked ## print how many published cases hold, with parity and without, and why the others differ
	@PYTHONPATH=tests:tests/conformance $(BIN)/python tools/conformance.py

# The wheels of two public tables of models; LiteLLM's has 41 MB and is not installed.
.venv/tables: .venv/dev
	rm -rf $@ && $(PIP) download --no-deps --dest $@ "litellm>=1.109,<2" "genai-prices>=0.2,<1"

data data-check: .venv/tables # write the catalog of models anew; compare its windows with a second public table
	@PYTHONPATH=python $(BIN)/python tools/models.py .venv/tables/litellm-*.whl .venv/tables/genai_prices-*.whl $(if $(filter data-check,$@),--check)

bench-%: benches/%.py .venv/dev .venv/release .venv/rivals ## measure speed: benches/NAME.py, benches/test_NAME.py; ARGS=--small tries it
	@$(BIN)/python $< $(ARGS)

bench-%: benches/test_%.py .venv/dev .venv/release .venv/rivals
	@mkdir -p target
	@$(BIN)/python -m pytest $< --benchmark-json=target/bench-$*.json $(ARGS)

bench-%: rust/core/benches/%.rs
	cargo bench --quiet --package trimtab-core --features bench --bench $* -- $(ARGS)

eval-%: evals/%.py .venv/dev .venv/release ## run evals/NAME.py: accuracy, where bench is speed
	@$(BIN)/python $< $(ARGS)

nightly: slow full proof reliability adapters-oldest memory fuzz ## all that takes minutes or hours, on the release build
	cargo clippy -p trimtab-core --no-default-features --quiet -- -D warnings

slow: .venv/dev .venv/release ## Python tests that take minutes; ARGS=tests/test_claude.py for one file
	@$(BIN)/python -m pytest -s --show-capture=no -m slow $(ARGS)

full: .venv/dev .venv/release # the tests of make test with all examples of each property
	@TESTS_PERCENT=100 $(BIN)/python -m pytest -p no:benchmark -n auto --dist worksteal $(ARGS)

proof: .venv/dev .venv/release # no compacted list is invalid: every short list, and 50,000 histories; ARGS="lists=3"
	cargo test --release --package trimtab-core --test proof -- --include-ignored --nocapture
	@PYTHONPATH=tests $(BIN)/python -m proofs.validity $(ARGS)

reliability: .venv/dev .venv/release # archive fault injection: SIGKILL, full disk, dropped connections, concurrency
	@PYTHONPATH=tests $(BIN)/python -m faults.reliability $(ARGS)

# The runner is what Cargo starts a test with.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
RUNNER = CARGO_TARGET_$(shell echo $(HOST) | tr a-z- A-Z_)_RUNNER

memory: # the engine's tests under AddressSanitizer, then under valgrind
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/asan \
		cargo test -p trimtab-simd -p trimtab-tokens --lib --target $(HOST)
	$(RUNNER)="valgrind --quiet --error-exitcode=1" cargo test -p trimtab-simd -p trimtab-tokens --lib

fuzz: # a minute of each fuzz target; SECONDS=600 for more, ARGS=engine for one
	@$(PYTHON) fuzz/run.py --seconds $(or $(SECONDS),60) $(ARGS)

fuzz-short: ## a minute of all fuzz targets, as in CI
	@$(PYTHON) fuzz/run.py --seconds 7

fuzz-planted: # that each fuzz target finds a bug: in how many runs
	@$(PYTHON) fuzz/run.py --planted $(ARGS)

record: .venv/dev .venv/release ## record the example session anew on the repository as it is
	@$(BIN)/python examples/record.py
	@$(BIN)/python -m pytest -m slow tests/test_examples.py

clean: ## remove everything that was built
	rm -rf .venv dist target fuzz/target
