//! `wavecrew testing` through the binary, with real test frameworks and workers that are small programs.

mod bad_input;
mod examples;
mod lab;
mod liars;
mod offline;
mod rounds;
