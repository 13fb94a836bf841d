//! `wavecrew web` and `--web`: over HTTP as an attacker would use it, and in a real browser as a person does.

mod browser;
mod client;
mod driver;
mod pages;
mod safety;
