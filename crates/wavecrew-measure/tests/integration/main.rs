//! Real frameworks on small real projects: figures, what is left behind, and everything that can go wrong.
//! Needs `scripts/install-frameworks.sh`; `WAVECREW_SKIP_FRAMEWORKS=1` passes these tests over.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod bad;
mod cargo;
mod command;
mod go;
mod measured;
mod mutation;
mod node;
mod python;
