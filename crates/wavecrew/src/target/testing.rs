//! Flags of team Testing, and the scope that they ask for.

use crate::clock::{self, LONGEST_SECONDS};
use crate::exit::Failure;
use crate::global::Global;
use crate::{project, show};
use std::path::Path;
use wavecrew_core::team::Team;
use wavecrew_measure::detect::Certainty;
use wavecrew_testing::prepare::{self, Options, Prepared};
use wavecrew_testing::scope::{MutationEffort, ScopeRequest};

/// Flags of teams that test code.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct TestingFlags {
    /// Test what changed since this revision [default: HEAD~1]
    #[arg(long, value_name = "REV")]
    pub since: Option<String>,
    /// Line coverage in percent that a layer (L1 unit, L2 integration, L3 end-to-end) must reach, such as `L1=85`; may
    /// be repeated
    #[arg(long = "target", id = "coverage_target", value_name = "LAYER=PERCENT")]
    pub targets: Vec<String>,
    /// How many mutants (small faults in the code) to try: off (none), quick (a dozen) or full (400) [default: quick]
    #[arg(long, value_enum, value_name = "HOW")]
    pub mutation: Option<MutationFlag>,
    /// Share of the mutants that the tests must kill to be verified, in percent; 0 turns this off [default: 60]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub min_effectiveness: Option<u8>,
    /// Time limit of one test run, in seconds [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=LONGEST_SECONDS))]
    pub test_timeout: Option<u64>,
    /// Random seed for inputs of the offline agent, test order and mutants
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Search time of the offline agent per module, in seconds [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=LONGEST_SECONDS))]
    pub offline_budget: Option<u64>,
    /// Generate tests even if the project's own tests meet the target
    #[arg(long)]
    pub always: bool,
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
            (self.min_effectiveness.is_some(), "--min-effectiveness"),
            (self.test_timeout.is_some(), "--test-timeout"),
            (self.always, "--always"),
            (self.apply, "--apply"),
        ]
        .into_iter()
        .find_map(|(given, flag)| given.then_some(flag))
    }

    /// Finds what is in scope. Changes nothing.
    pub(super) fn prepare(&self, project: &Path, team: &Team, words: &[String]) -> Result<Prepared, Failure> {
        let words: Vec<String> = words.iter().map(|word| from_project(project, word)).collect();
        let options = Options {
            request: ScopeRequest {
                since: self.since.as_deref(),
                words: &words,
            },
            targets: &self.targets,
            mutation: self.mutation.map(MutationFlag::effort),
            min_effectiveness: self.min_effectiveness,
            run_seconds: self.test_timeout,
            seed: self.seed.unwrap_or_else(clock::seed),
            offline_seconds: self.offline_budget,
        };
        prepare::prepare(project, team, &options)
            .map_err(|error| Failure::with_help(error.to_string(), error.help()))
    }
}

/// A word that is a path from where the person is, as a path from the project.
fn from_project(project: &Path, word: &str) -> String {
    let typed = project::typed(Path::new(word));
    if project.join(word).exists() || !project.join(&typed).exists() {
        return word.to_owned();
    }
    typed.to_string_lossy().into_owned()
}

/// Refuses to run on nothing, and warns of what is only assumed.
pub fn check_scope(prepared: &Prepared, global: &Global) -> Result<(), Failure> {
    if prepared.scope.files.is_empty() {
        return Err(Failure::with_help(
            format!("there is no source file to test ({})", prepared.found.how),
            "supported: Python, JavaScript, TypeScript, Rust and Go; start it in the project's folder, or name the folder with -C",
        ));
    }
    if let Some(missing) = &prepared.missing {
        return Err(Failure::with_help(
            format!(
                "{} is not installed for this project: no test can run",
                missing.what
            ),
            missing.fix.clone(),
        ));
    }
    if !global.prints_notes() {
        return Ok(());
    }
    global.note(&format!("Scope   {}", prepared.found.how));
    for skipped in &prepared.scope.skipped {
        show::warning(&show::safe(&skipped.to_string()), Some(&skipped.fix));
    }
    for framework in &prepared.scope.frameworks {
        if framework.certainty == Certainty::Assumed {
            let what = format!(
                "no test framework found in {} ({}): assuming {}",
                framework.root.display(),
                framework.config_file,
                framework.framework.name()
            );
            show::warning(&what, None);
        }
    }
    Ok(())
}
