//! Examinations on real frameworks.
//! Needs `scripts/install-frameworks.sh`; `WAVECREW_SKIP_FRAMEWORKS=1` passes these tests over.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod lab;
mod liars;
mod measuring;
mod worth;
