//! Does what the engine decides.

mod reporter;

pub use reporter::{Reporter, Running};
