# Builds, runs, tests and shows KnowHub; `make` alone lists the targets.

# The Procfile names binaries under target/release, so a redirected target folder must not take them elsewhere.
RELEASE := --release --target-dir target
RUNNER  := .tools/bin/ultraman
FUZZER  := .tools/bin/cargo-fuzz

# How long each fuzz target runs.
FUZZ_SECONDS ?= 60

# The folder of public question sets; docs/evaluation.md says where they are to be had.
EVAL_DATA ?=

.PHONY: help build up test fuzz eval demo

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build all programs in release mode
	cargo build --workspace $(RELEASE)

# The runner starts each line of the Procfile through $SHELL and stops without one.
# It stops the programs on Ctrl-C (SIGINT) and gives them 15 s to drain; it ignores SIGTERM.
up: build $(RUNNER) ## Start relay, hub and librarian; Ctrl-C stops them
	SHELL=/bin/sh exec $(RUNNER) start -t 15

# System tests start the built programs; exit code 75 means that a peer cannot be had here, which its tests report.
test: ## Build everything, fetch the peers, run all tests
	cargo build --workspace --bins
	tests/peers/setup.sh || [ $$? -eq 75 ]
	cargo test --workspace --no-fail-fast
	cargo test -p llm --features local-embeddings local

# Without a sanitizer the pinned compiler can do it: the code is safe Rust, and a broken promise panics.
fuzz: $(FUZZER) ## Search for input that breaks a promise, FUZZ_SECONDS (60) a target
	@for target in $$($(FUZZER) list); do \
		mkdir -p fuzz/corpus/$$target fuzz/seeds/$$target; \
		$(FUZZER) run --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds/$$target \
			-- -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

eval: build ## Measure search on the question sets in EVAL_DATA, against its goals
	@[ -n "$(EVAL_DATA)" ] || { echo "set EVAL_DATA to the folder of the sets; see docs/evaluation.md" >&2; exit 2; }
	target/release/bench-eval --data "$(EVAL_DATA)"

demo: build ## Load the examples into a scratch store and ask five questions
	target/release/demo

$(RUNNER):
	cargo install --quiet --root .tools ultraman --version 0.4.0 --locked

$(FUZZER):
	cargo install --quiet --root .tools cargo-fuzz --version 0.13.1 --locked
