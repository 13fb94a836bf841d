# What people type while working on wavecrew; `just` lists it.
_default:
    @just --list

# The release binary, target/release/wavecrew
build:
    scripts/setup.sh

# Format, lints and all tests, as CI runs them
check:
    scripts/test.sh

# Tests only, e.g. `just test -p wavecrew-core waves`
test *args:
    cargo nextest run {{args}}

# Format everything
fmt:
    cargo fmt --all

# The figures of the README
bench:
    cargo bench -p wavecrew --bench plan
    cargo bench -p wavecrew --bench run
    cargo bench -p wavecrew-process --bench spawn
    cargo bench -p wavecrew-session --bench store

# More runs of the simulation, e.g. `just simulate 1000000`
simulate runs="250000":
    WAVECREW_SIM_RUNS={{runs}} cargo nextest run -p wavecrew-core simulation::

# Look at and accept changed snapshots
review:
    cargo insta review

# The JSON Schema of team files, after a change of its types
schema:
    cargo run -q -p wavecrew-core --example team-schema > schema/team.schema.json

# Licences, sources and advisories of the dependencies
deny:
    cargo deny check
