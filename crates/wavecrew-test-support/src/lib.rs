//! What tests share: [`depth`], how much they run, [`fake_agent`], a scripted worker, and [`fake_model`], a scripted
//! model service for real agents, and [`truth`], workers that cheat and workers that do not. Nothing here is part of the product.

pub mod depth;
pub mod fake_agent;
pub mod fake_model;
pub mod frameworks;
pub mod truth;
