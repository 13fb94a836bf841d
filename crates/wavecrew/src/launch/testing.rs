//! Sessions whose tests are measured: their flags, what is in scope, and how their tests are run.

use crate::clock::LONGEST_SECONDS;
use crate::exit::Failure;
use crate::launch::test_runs;
use crate::show;
use std::io;
use std::path::Path;

use wavecrew_core::team::{ChangeSize, CheckKind, Pipeline, Team};
use wavecrew_measure::detect::Certainty;
use wavecrew_testing::bench::{Bench, Trouble};
use wavecrew_testing::scope::{self, Found, GitError, LayerInScope, Mutation, Scope, Wish};

/// Flags of teams that test code.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct TestingFlags {
    /// Test what changed since this revision [default: the commit before the last one]
    #[arg(long, value_name = "REV")]
    pub since: Option<String>,
    /// Coverage that a layer has to reach, in percent of the lines in scope: L1=85
    #[arg(long = "target", id = "coverage_target", value_name = "LAYER=PERCENT")]
    pub targets: Vec<String>,
    /// Deliberate changes of the code, which the tests should notice: a dozen, many, or none
    #[arg(long, value_enum, value_name = "HOW")]
    pub mutation: Option<MutationFlag>,
    /// Seconds that one run of the tests may take [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=LONGEST_SECONDS))]
    pub test_timeout: Option<u64>,
    /// Decides everything that is drawn by lot: inputs of the offline agent, orders of tests, deliberate changes
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Seconds that the offline agent may look for inputs in each module [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=LONGEST_SECONDS))]
    pub offline_budget: Option<u64>,
    /// Copy the tests that were kept into the project at the end, after showing them
    #[arg(long)]
    pub apply: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum MutationFlag {
    Off,
    Quick,
    Full,
}

const RUN_SECONDS: u64 = 300;

impl TestingFlags {
    /// Flags that make no sense for other teams.
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

    /// The targets of the team with those that were given in their place.
    pub fn targets_of(&self, team: &Team) -> Result<Vec<(String, f64)>, Failure> {
        let mut targets: Vec<(String, f64)> = team
            .targets
            .iter()
            .map(|t| (t.name.clone(), f64::from(t.percent)))
            .collect();
        for given in &self.targets {
            let parsed = given.split_once('=').and_then(|(layer, percent)| {
                let percent: f64 = percent.trim().trim_end_matches('%').parse().ok()?;
                (0.0..=100.0)
                    .contains(&percent)
                    .then_some((layer.trim(), percent))
            });
            let known = parsed.and_then(|(layer, percent)| {
                let found = targets
                    .iter_mut()
                    .find(|(name, _)| name.eq_ignore_ascii_case(layer))?;
                found.1 = percent;
                Some(())
            });
            if known.is_none() {
                let names: Vec<&str> = team.targets.iter().map(|target| target.name.as_str()).collect();
                return Err(Failure::with_help(
                    format!("`--target {given}` is no layer with its percentage"),
                    format!(
                        "write it as {}=85; layers are {}",
                        names.first().unwrap_or(&"L1"),
                        names.join(", ")
                    ),
                ));
            }
        }
        Ok(targets)
    }

    fn mutation(&self) -> Mutation {
        match self.mutation {
            Some(MutationFlag::Off) => Mutation::Off,
            Some(MutationFlag::Quick) | None => Mutation::Quick,
            Some(MutationFlag::Full) => Mutation::Full,
        }
    }
}

/// What a session of such a team is about.
pub struct Prepared {
    pub found: Found,
    pub scope: Scope,
    /// `None` when there is nothing to count.
    pub size: Option<ChangeSize>,
}

/// Whether claims in this team are examined by running tests of the session.
pub fn is_testing(team: &Team) -> bool {
    team.roles.iter().any(|role| match role.check {
        Some(CheckKind::GeneratedTests | CheckKind::TestRun | CheckKind::TestReport) => true,
        Some(CheckKind::CodeWork | CheckKind::CodeTests) | None => false,
    })
}

/// Finds out what is in scope. Looks, and changes nothing.
pub fn prepare(
    project: &Path,
    team: &Team,
    flags: &TestingFlags,
    words: &[String],
) -> Result<Prepared, Failure> {
    let targets = flags.targets_of(team)?;
    let wish = Wish {
        since: flags.since.as_deref(),
        words,
    };
    let found = scope::find(project, &wish)
        .map_err(|error: GitError| Failure::with_help(error.to_string(), error.help()))?;
    let (frameworks, files) = scope::frameworks(project, &found.files);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let size = (!files.is_empty()).then(|| ChangeSize {
        files: count(files.len()),
        modules: count(found.modules(project).len()),
    });
    let scope = Scope {
        base: found.base.word().map(str::to_owned),
        commit: found.commit.clone(),
        how: found.how.clone(),
        files,
        frameworks,
        targets: targets.into_iter().collect(),
        layers: team
            .targets
            .iter()
            .map(|target| LayerInScope {
                name: target.name.clone(),
                folder: target.folder.clone().into(),
            })
            .collect(),
        mutation: flags.mutation(),
        run_seconds: flags.test_timeout.unwrap_or(RUN_SECONDS),
        seed: flags.seed.unwrap_or_else(super::budget::seed),
        offline_seconds: flags.offline_budget,
    };
    Ok(Prepared { found, scope, size })
}

impl Prepared {
    /// The request as rows have it: with what it is about, so that a worker need not find out again.
    pub fn request(&self, words: &str) -> String {
        let scope = &self.scope;
        if scope.files.is_empty() {
            return words.to_owned();
        }
        let names: Vec<String> = scope
            .files
            .iter()
            .take(40)
            .map(|file| file.path.display().to_string())
            .collect();
        let more = scope.files.len().saturating_sub(names.len());
        let more = if more > 0 {
            format!(" and {more} more, see scope.json")
        } else {
            String::new()
        };
        let places: Vec<String> = scope
            .frameworks
            .iter()
            .map(|f| {
                let place = wavecrew_testing::layer::folder_of(f, Path::new("LAYER"));
                format!(
                    "{} in {}: tests named {}, their imports written as from {}",
                    f.framework.name(),
                    f.root.display(),
                    f.test_pattern(),
                    place.display()
                )
            })
            .collect();
        let asked = if words.trim().is_empty() {
            String::new()
        } else {
            format!("{}. ", words.trim().trim_end_matches('.'))
        };
        format!(
            "{asked}In scope are {}{more}. Frameworks: {} (LAYER is the name of the layer's folder).",
            names.join(", "),
            places.join("; ")
        )
    }

    /// Rows of a layer ask for what was asked for.
    pub fn set_targets(&self, pipeline: &mut Pipeline) {
        for task in &mut pipeline.tasks {
            let target = task.set.get("layer").and_then(|layer| self.scope.target(layer));
            if let Some((target, cell)) = target.zip(task.set.get_mut("coverage_target")) {
                *cell = target.to_string();
            }
        }
    }

    /// Refuses to run on nothing, and warns of what was only assumed.
    pub fn check(&self, quiet: bool) -> Result<(), Failure> {
        if self.scope.files.is_empty() {
            return Err(Failure::with_help(
                format!("there is no source file to test ({})", self.found.how),
                "known are Python, JavaScript, TypeScript, Rust and Go; start it in the project's folder, or name it with -C",
            ));
        }
        if quiet {
            return Ok(());
        }
        for word in &self.found.missing {
            let what = format!("`{word}` is not there, and narrows nothing");
            show::warning(&show::safe(&what), None);
        }
        anstream::eprintln!("Scope   {}", show::safe(&self.found.how));
        for framework in &self.scope.frameworks {
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
}

/// The session's tests, to be run.
pub fn bench(session: &Path) -> Result<Bench, Failure> {
    let stop = test_runs::stop_on_signals().map_err(Failure::Output)?;
    Bench::open(session, test_runs::cache_folder(), Some(stop)).map_err(|trouble| trouble_failure(&trouble))
}

pub fn trouble_failure(trouble: &Trouble) -> Failure {
    Failure::NotDone {
        message: trouble.to_string(),
        help: trouble.help(),
    }
}

pub fn disk(error: &io::Error) -> Failure {
    Failure::Disk {
        message: format!("the session's copy of the project cannot be made: {error}"),
        help: "check the space and the rights of the folder".to_owned(),
    }
}
