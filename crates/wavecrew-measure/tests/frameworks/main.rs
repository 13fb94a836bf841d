//! Real frameworks on small real projects: figures, what is left behind, and everything that can go wrong.

mod bad;
mod cargo;
mod command;
mod lab;
mod node;
mod python;
