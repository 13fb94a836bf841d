//! Workers that misbehave in every way we know, as real processes. Results are checked in the process table.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod close;
mod death;
mod leftovers;
mod sandbox;
mod spawn;
mod support;
