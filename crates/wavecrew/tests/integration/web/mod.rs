//! `wavecrew web` and `--web`: over HTTP as an attacker would use it, and in a real browser as a person does.

mod acts;
mod bad_input;
mod browser;
mod evidence;
mod pages;
mod safety;
