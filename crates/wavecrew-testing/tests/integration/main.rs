//! Checks with real test frameworks.
//! Needs `scripts/install-frameworks.sh`; `WAVECREW_SKIP_FRAMEWORKS=1` skips these tests.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod dishonest_workers;
mod measuring;
mod offending_tests;
mod redundant_tests;
mod session;
mod truth;
