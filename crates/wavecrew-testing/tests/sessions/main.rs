//! Examinations on real frameworks.
//! Needs `scripts/install-frameworks.sh`; `WAVECREW_SKIP_FRAMEWORKS=1` passes these tests over.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

#[path = "../../../wavecrew-measure/tests/frameworks/installed.rs"]
mod installed;
mod lab;
mod liars;
mod measuring;
mod worth;
