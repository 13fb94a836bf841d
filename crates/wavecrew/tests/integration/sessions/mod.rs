//! The commands that look at sessions and those of workers, through the program itself, over folders made with the
//! store.

mod configuration;
mod looking;
mod mistakes;
mod stopping;
mod support;
mod worker;
