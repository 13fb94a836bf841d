//! All integration tests of the program, in one binary: it links once.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod agents;
mod crash;
mod diff;
mod documents;
mod escape;
mod lifecycle;
mod mcp;
mod measure;
mod old_formats;
mod plan;
mod readme;
mod remote;
mod replay;
mod run;
mod sessions;
mod testing;
mod web;
