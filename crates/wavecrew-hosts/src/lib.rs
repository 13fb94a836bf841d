//! Workers on other hosts. The [`coordinator`]'s side is a place for the workers of a run; the host's side
//! runs them under its own guardian. Their [`files`] are sent as content-addressed [`objects`].

mod consume;
pub mod coordinator;
pub mod files;
mod git;
pub mod host;
mod lease_keys;
mod link_watch;
pub mod listing;
mod mail;
pub mod objects;
pub mod path_map;
pub mod setup;
mod task;
