//! Test generation with real interpreters and frameworks. `scripts/install-frameworks.sh` installs them;
//! `WAVECREW_SKIP_FRAMEWORKS=1` skips these tests.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod javascript;
mod python;
