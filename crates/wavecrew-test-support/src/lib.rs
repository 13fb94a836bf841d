//! What tests share: [`sandbox`], a project to run the program in, [`depth`], how much the tests run, [`fake_agent`], a
//! scripted worker, [`fake_model`], a scripted model service for real agents, [`frameworks`], where real test
//! frameworks are installed, [`nats_server`], a real NATS server, [`simulation`], random runs from a seed, [`truth`] and [`testing_cases`], workers that cheat and workers that do not, [`browser`], a real browser, and [`web_server`] with [`http`], the dashboard and a rude client. Nothing here is part of the
//! product.

pub mod browser;
pub mod depth;
pub mod fake_agent;
pub mod fake_model;
pub mod frameworks;
pub mod http;
pub mod nats_client;
pub mod nats_server;
pub mod sandbox;
pub mod simulation;
pub mod testing_cases;
pub mod truth;
pub mod truth_code;
pub mod web_server;
