//! Teams lifecycle and planex through the program itself, with an agent that gives prepared answers and a real repository.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod building;
mod contracts;
mod decisions;
mod lab;
mod planex;
mod specification;
