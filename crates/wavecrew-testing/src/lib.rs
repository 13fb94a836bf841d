//! What team Testing knows beyond its team file: which code is in scope, the copy of the project in which it is tested,
//! how claims of its roles are examined, how good the tests are, and how they come into the project. Works on a session
//! folder and a project; starts no agent and decides nothing about waves.

pub mod accept;
pub mod apply;
pub mod baseline;
pub mod bench;
mod cut;
pub mod examine;
pub mod feedback;
pub mod figures;
pub mod finish;
pub mod layer;
mod mutation;
pub mod quality;
pub mod result;
pub mod rounds;
pub mod scope;
pub mod tree;
mod trial;
pub mod verdict;
