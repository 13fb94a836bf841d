//! `wavecrew testing` through the binary, with real test frameworks and workers that are small programs.
//! Needs `scripts/install-frameworks.sh`; `WAVECREW_SKIP_FRAMEWORKS=1` skips these tests.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod bad_input;
mod compiled;
mod dishonest_workers;
mod examples;
mod hostile_tests;
mod kills;
mod offline;
mod offline_javascript;
mod parts;
mod real_packages;
mod rounds;
mod terminal;
pub mod testing_sandbox;
mod two_frameworks;
