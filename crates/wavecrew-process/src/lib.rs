//! Finds processes in the kernel's table and ends sets of them. Starts none, and knows no workers and no test runs.

mod apart;
mod ending;
pub mod table;

pub use apart::{Apart, start_apart};
pub use ending::{KILL_PAUSE, end, end_all_descendants, freeze_and_kill, own_line, signal};
