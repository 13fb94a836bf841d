//! The scripted worker, built with this crate's tests so that they can start it as an agent.

fn main() -> std::process::ExitCode {
    wavecrew_test_support::fake_agent::run(std::env::args_os().skip(1))
}
