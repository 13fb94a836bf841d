//! wavecrew-run

pub mod guardian;
pub mod process;
