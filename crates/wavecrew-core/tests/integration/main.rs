//! The core's tests from outside: team files, their schema, and the simulation of the engine.

mod simulation;
mod team_mistakes;
mod team_schema;
mod teams;
