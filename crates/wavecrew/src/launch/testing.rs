//! Flags of team Testing, and what is shown before its sessions start.

use crate::clock::LONGEST_SECONDS;
use crate::exit::Failure;
use crate::show;
use std::io;
use std::path::Path;

use wavecrew_core::team::Team;
use wavecrew_measure::detect::Certainty;
use wavecrew_measure::run::{cache_folder, stop_on_signals};
use wavecrew_testing::environment::{EnvironmentError, TestEnvironment};
use wavecrew_testing::prepare::{self, Options, Prepared};
use wavecrew_testing::scope::{MutationEffort, ScopeRequest};

/// Flags of teams that test code.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct TestingFlags {
    /// Test what changed since this revision [default: the commit before the last one]
    #[arg(long, value_name = "REV")]
    pub since: Option<String>,
    /// Line coverage that a layer must reach, in percent (L1=85); may be repeated
    #[arg(long = "target", id = "coverage_target", value_name = "LAYER=PERCENT")]
    pub targets: Vec<String>,
    /// How many mutants to try: none, a dozen or 400 [default: quick]
    #[arg(long, value_enum, value_name = "HOW")]
    pub mutation: Option<MutationFlag>,
    /// Time limit of one test run, in seconds [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=LONGEST_SECONDS))]
    pub test_timeout: Option<u64>,
    /// Random seed: inputs of the offline agent, test order, mutants
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Search time of the offline agent per module, in seconds [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=LONGEST_SECONDS))]
    pub offline_budget: Option<u64>,
    /// Copy the kept tests into the project at the end, after showing them
    #[arg(long)]
    pub apply: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum MutationFlag {
    Off,
    Quick,
    Full,
}

impl MutationFlag {
    fn effort(self) -> MutationEffort {
        match self {
            Self::Off => MutationEffort::Off,
            Self::Quick => MutationEffort::Quick,
            Self::Full => MutationEffort::Full,
        }
    }
}

impl TestingFlags {
    /// The first flag that is given; other teams have none of them.
    pub fn given(&self) -> Option<&'static str> {
        [
            (self.since.is_some(), "--since"),
            (self.seed.is_some(), "--seed"),
            (self.offline_budget.is_some(), "--offline-budget"),
            (!self.targets.is_empty(), "--target"),
            (self.mutation.is_some(), "--mutation"),
            (self.test_timeout.is_some(), "--test-timeout"),
            (self.apply, "--apply"),
        ]
        .into_iter()
        .find_map(|(given, flag)| given.then_some(flag))
    }
}

/// Finds what is in scope. Changes nothing.
pub fn prepare(
    project: &Path,
    team: &Team,
    flags: &TestingFlags,
    words: &[String],
) -> Result<Prepared, Failure> {
    let options = Options {
        request: ScopeRequest {
            since: flags.since.as_deref(),
            words,
        },
        targets: &flags.targets,
        mutation: flags.mutation.map(MutationFlag::effort),
        run_seconds: flags.test_timeout,
        seed: flags.seed.unwrap_or_else(super::budget::seed),
        offline_seconds: flags.offline_budget,
    };
    prepare::prepare(project, team, &options)
        .map_err(|error| Failure::with_help(error.to_string(), error.help()))
}

/// Refuses to run on nothing, and warns of what is only assumed.
pub fn check_scope(prepared: &Prepared, quiet: bool) -> Result<(), Failure> {
    if prepared.scope.files.is_empty() {
        return Err(Failure::with_help(
            format!("there is no source file to test ({})", prepared.found.how),
            "known are Python, JavaScript, TypeScript, Rust and Go; start it in the project's folder, or name it with -C",
        ));
    }
    if quiet {
        return Ok(());
    }
    for word in &prepared.found.missing {
        let what = format!("`{word}` does not exist and does not narrow the scope");
        show::warning(&show::safe(&what), None);
    }
    anstream::eprintln!("Scope   {}", show::safe(&prepared.found.how));
    for framework in &prepared.scope.frameworks {
        if framework.certainty == Certainty::Assumed {
            let what = format!(
                "no sign of a test framework in {} ({}): {} is assumed",
                framework.root.display(),
                framework.config_file,
                framework.framework.name()
            );
            show::warning(&what, None);
        }
    }
    Ok(())
}
/// Opens the session's test environment.
pub fn open_environment(session: &Path) -> Result<TestEnvironment, Failure> {
    let stop = stop_on_signals().map_err(Failure::Output)?;
    TestEnvironment::open(session, cache_folder(), Some(stop)).map_err(|error| environment_failure(&error))
}

pub fn environment_failure(error: &EnvironmentError) -> Failure {
    Failure::NotDone {
        message: error.to_string(),
        help: error.help(),
    }
}

pub fn disk(error: &io::Error) -> Failure {
    Failure::Disk {
        message: format!("the session's copy of the project cannot be made: {error}"),
        help: "check the space and the permissions of the folder".to_owned(),
    }
}
