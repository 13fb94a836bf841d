//! The program around [`wavecrew_test_support::fake_agent::run`].

fn main() -> std::process::ExitCode {
    wavecrew_test_support::fake_agent::run(std::env::args_os().skip(1))
}
