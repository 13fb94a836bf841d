//! Teams lifecycle and planex through the program itself, with an agent that gives prepared answers and a real repository.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod affected;
mod building;
mod contracts;
mod decisions;
#[path = "../example_files/mod.rs"]
mod example_files;
mod examples;
#[path = "../../../wavecrew-measure/tests/frameworks/installed.rs"]
mod installed;
mod killed;
mod lab;
mod person;
mod planex;
mod repositories;
mod review;
mod side_by_side;
mod specification;
mod terminal;
mod verify;
