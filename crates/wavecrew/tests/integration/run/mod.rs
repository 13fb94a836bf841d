//! `run` and `--continue` through the program itself, with scripted workers.

mod asking;
mod edits;
mod hostile;
mod issues;
mod limits;
mod reports;
mod resume;
pub mod sandbox;
mod sessions;
mod shorts;
mod signals;
mod spoken;
mod trees;
mod waves;
