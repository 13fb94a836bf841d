//! Sessions whose tests are measured: what is in scope, the copy of the project that workers stand in, the project's own
//! tests before anything is written, and what becomes of the new ones.

use crate::exit::Failure;
use crate::launch::test_runs;
use crate::show;
use std::collections::HashSet;
use std::io;
use std::path::Path;

use serde_json::json;
use wavecrew_core::engine::Ledger;
use wavecrew_core::team::{Changes, Examination, Pipeline, Team, Workspace};
use wavecrew_measure::detect::Certainty;
use wavecrew_run::driver::{Folders, OpenSession};
use wavecrew_store::Discovery;
use wavecrew_testing::baseline::{Baseline, SuiteResult};
use wavecrew_testing::bench::{Bench, Trouble};
use wavecrew_testing::figures::{lines, percent};
use wavecrew_testing::scope::{self, Found, GitError, LayerInScope, Mutation, Scope, Wish};
use wavecrew_testing::tree::Trees;

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
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub test_timeout: Option<u64>,
    /// Decides everything that is drawn by lot: inputs of the offline agent, orders of tests, deliberate changes
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Seconds that the offline agent may look for inputs in each module [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
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
    pub size: Option<Changes>,
}

/// Whether claims in this team are examined by running tests of the session.
pub fn is_testing(team: &Team) -> bool {
    team.roles.iter().any(|role| match role.examined {
        Some(Examination::GeneratedTests | Examination::TestRun | Examination::TestReport) => true,
        Some(Examination::CodeWork | Examination::CodeTests) | None => false,
    })
}

/// Finds out what is in scope. Looks, and changes nothing.
pub fn prepare(
    project: &Path,
    team: &Team,
    flags: &TestingFlags,
    request: &str,
) -> Result<Prepared, Failure> {
    let targets = flags.targets_of(team)?;
    let wish = Wish {
        since: flags.since.as_deref(),
        request,
    };
    let found = scope::find(project, &wish)
        .map_err(|error: GitError| Failure::with_help(error.to_string(), error.help()))?;
    let (frameworks, files) = scope::frameworks(project, &found.files);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let size = (!files.is_empty()).then(|| Changes {
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

/// Gives a new session what its examinations need.
pub fn begin(
    session: &mut OpenSession,
    ledger: &Ledger,
    prepared: &Prepared,
    quiet: bool,
) -> Result<(), Failure> {
    let folder = session.dir.path().to_owned();
    let disk = |error: io::Error| disk(&error);
    prepared.scope.write(&folder).map_err(disk)?;
    let state = json!({ "rounds": {}, "coverage_history": [], "max_rounds_per_layer": 3 });
    std::fs::write(folder.join("gc-state.json"), format!("{state:#}\n")).map_err(disk)?;
    Trees::make(&session.project, &folder).map_err(disk)?;
    announce(session, &prepared.scope)?;
    let bench = bench(&folder)?;
    if !quiet {
        anstream::eprintln!("Before  the project's own tests are run once");
    }
    let baseline = Baseline::measure(&bench).map_err(|trouble| trouble_failure(&trouble))?;
    baseline.write(&folder).map_err(disk)?;
    if !quiet {
        tell(&baseline);
    }
    session.folders = Some(folders(ledger, &session.project, &folder));
    Ok(())
}

/// What the project's own tests came to.
fn tell(baseline: &Baseline) {
    for suite in &baseline.suites {
        if let SuiteResult::Error { message, help } = &suite.result {
            show::warning(message, Some(help));
        }
    }
    let covered = lines(&baseline.coverage());
    let red = match baseline.red() {
        0 => String::new(),
        red => format!(", {red} of them red before anything was written"),
    };
    anstream::eprintln!(
        "Before  {} tests{red}; {} % of the lines in scope covered",
        baseline.tests(),
        if covered.total == 0 {
            "0.00".to_owned()
        } else {
            percent(covered)
        }
    );
}

/// Puts what was found out about the project on the board.
fn announce(session: &OpenSession, scope: &Scope) -> Result<(), Failure> {
    let board = session.dir.board();
    let entry = |kind: &str, data| Discovery {
        ts: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        worker: "coordinator".to_owned(),
        kind: kind.to_owned(),
        data,
        attempt: None,
        extra: serde_json::Map::new(),
    };
    for framework in &scope.frameworks {
        board.append(&entry(
            "framework_detected",
            json!({
                "framework": framework.framework.name(),
                "config_file": framework.config_file,
                "test_pattern": framework.test_pattern(),
                "root": framework.root,
                "version": framework.version,
            }),
        ))?;
        let conventions = &framework.conventions;
        for (pattern, description) in conventions
            .folders
            .iter()
            .map(|folder| (folder, "a folder that holds tests"))
            .chain(
                conventions
                    .naming
                    .iter()
                    .map(|naming| (naming, "how test files are named")),
            )
            .chain(conventions.fixtures.iter().map(|file| (file, "shared by tests")))
        {
            board.append(&entry(
                "convention_found",
                json!({ "pattern": pattern, "example_file": framework.root, "description": description }),
            ))?;
        }
    }
    Ok(())
}

/// Gives a session that is taken up again what its workers need; nothing for one of another kind.
pub fn take_up(session: &mut OpenSession, ledger: &Ledger) -> Result<(), Failure> {
    let folder = session.dir.path().to_owned();
    if !folder.join("scope.json").exists() {
        return Ok(());
    }
    Trees::make(&session.project, &folder).map_err(|error| disk(&error))?;
    session.folders = Some(folders(ledger, &session.project, &folder));
    Ok(())
}

/// Roles that work in a snapshot stand in the copy, the others in the project.
fn folders(ledger: &Ledger, project: &Path, session: &Path) -> Folders {
    let (project, tree) = (project.to_owned(), session.join("tree"));
    let plan = ledger.plan();
    let in_project: HashSet<String> = plan
        .tasks()
        .filter(|&task| {
            ledger
                .team
                .role(plan.role(task))
                .is_none_or(|role| role.workspace != Workspace::Snapshot)
        })
        .map(|task| plan.id(task).to_owned())
        .collect();
    Box::new(move |task| {
        Ok(if in_project.contains(task) {
            project.clone()
        } else {
            tree.clone()
        })
    })
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
