//! Examinations on real frameworks.

mod lab;
mod liars;
mod measuring;
