//! `wavecrew testing` through the binary, with real test frameworks and workers that are small programs.
//! Needs `scripts/install-frameworks.sh`; `WAVECREW_SKIP_FRAMEWORKS=1` passes these tests over.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod bad_input;
mod compiled;
mod examples;
mod hostile;
mod kills;
pub mod lab;
mod liars;
mod offline;
mod offline_javascript;
mod rounds;
mod several;
mod terminal;
