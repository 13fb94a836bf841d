# Short names for common commands; `just` lists them.
_default:
    @just --list

# Build the release binary, target/release/wavecrew
build:
    scripts/setup.sh

# Check format and lints and run all tests, as CI does
check:
    scripts/test.sh

# Run tests only, e.g. `just test -p wavecrew-core waves`
test *args:
    cargo nextest run {{args}}

# Format everything
fmt:
    cargo fmt --all

# Run the main benchmarks
bench:
    cargo bench -p wavecrew --bench plan
    cargo bench -p wavecrew --bench run
    cargo bench -p wavecrew-process --bench spawn
    cargo bench -p wavecrew-session --bench store

# Run the simulation more often, e.g. `just simulate 1000000`
simulate runs="250000":
    WAVECREW_SIM_RUNS={{runs}} cargo nextest run -p wavecrew-core simulation::

# Review and accept changed snapshots
review:
    cargo insta review

# Write the JSON Schema of team files after a change of its types
schema:
    cargo run -q -p wavecrew-core --example team-schema > schema/team.schema.json

# Check licences, sources and advisories of the dependencies
deny:
    cargo deny check
