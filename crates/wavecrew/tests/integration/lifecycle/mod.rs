//! Teams lifecycle and planex through the program itself, with an agent that gives prepared answers and a real repository.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod affected;
mod behaviour;
mod building;
mod contracts;
mod decisions;
mod examples;
mod killed;
mod person;
mod planex;
mod repositories;
mod review;
mod side_by_side;
mod specification;
mod team_sandbox;
mod terminal;
mod truth;
mod truth_code;
mod verify;

pub use team_sandbox::example;
