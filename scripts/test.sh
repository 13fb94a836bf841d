#!/bin/sh
# Checks everything: format, lints, all tests. Installs what is missing first, stops at the first failed step, and prints
# how long each step took.
#
#   WAVECREW_TEST_DEPTH=full    all kill points, all agents times all failures, long simulations (default: a sample)
#   WAVECREW_TEST_SEED=N        repeats the sample of an earlier run, which printed its seed
#   WAVECREW_SKIP_AGENTS=1      skips the tests that start real agent CLIs (they need npm)
#   WAVECREW_SKIP_BROWSER=1     skips the tests in Chromium
#   WAVECREW_SKIP_FRAMEWORKS=1  skips the tests that run real test frameworks (they need npm, Python and Go)
#   WAVECREW_SKIP_REMOTE=1      skips the tests that start a NATS server (they need Python)
set -eu
cd "$(dirname "$0")/.."
. scripts/need.sh

need_rust
need_packages cc:gcc git:git strace:strace tmux:tmux
if [ "${WAVECREW_SKIP_AGENTS:-}" != 1 ]; then
    need_packages npm:npm
    step "install agents" scripts/install-agents.sh
fi
if [ "${WAVECREW_SKIP_BROWSER:-}" != 1 ]; then
    need_packages chromium:chromium chromedriver:chromium-driver
fi
if [ "${WAVECREW_SKIP_FRAMEWORKS:-}" != 1 ]; then
    need_packages npm:npm python3:python3-venv go:golang-go
    step "install frameworks" scripts/install-frameworks.sh
fi
if [ "${WAVECREW_SKIP_REMOTE:-}" != 1 ]; then
    need_packages python3:python3-venv faketime:faketime
    step "install nats" scripts/install-nats.sh
fi
for component in clippy fmt; do
    cargo "$component" --version >/dev/null 2>&1 || step "install $component" rustup component add clippy rustfmt
done
# Into the build folder, so that nothing of the user's is replaced, and unoptimised: it only has to start tests.
PATH=$PATH:$PWD/target/tools/bin
if ! cargo nextest --version >/dev/null 2>&1; then
    step "install nextest" cargo install --locked --quiet --debug --root target/tools cargo-nextest@0.9.143
fi

# One seed for the whole run, printed here, so that a failed sample can be repeated. It changes once a day.
: "${WAVECREW_TEST_SEED:=$(($(date +%s) / 86400))}"
export WAVECREW_TEST_SEED
echo "Test depth ${WAVECREW_TEST_DEPTH:-default}, seed $WAVECREW_TEST_SEED"

step format cargo fmt --all --check

# Clippy's compiler driver lints the crates of this workspace while it compiles them: one build instead of two. It is for
# this build alone, so the tests run what was built and do not see these variables.
lint_and_build() {
    RUSTC_WORKSPACE_WRAPPER=clippy-driver \
        CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ \
        CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false \
        cargo nextest list --locked --workspace --list-type binaries-only --message-format json >target/tests.json
}
mkdir -p target
step "lint and build" lint_and_build
cargo metadata --format-version 1 --locked --all-features >target/metadata.json
step tests cargo nextest run --profile ci --binaries-metadata target/tests.json --cargo-metadata target/metadata.json
if [ "${WAVECREW_SKIP_AGENTS:-}" != 1 ]; then
    step "agents table" scripts/agents-table.sh --check
fi
print_steps
