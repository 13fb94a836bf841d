//! `wavecrew diff`: what behaves differently between two versions of the code. Changes nothing unless it writes tests.

use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use crate::launch;
use crate::project;
use crate::show::safe;
use crate::units::read_seconds;
use std::env;
use std::fs;
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;
use wavecrew_core::view::count;
use wavecrew_diff::{
    DiffError, Progress, Report, Request, RevisionError, Selection, WantedTests, compare, is_revision,
    render, top_of, write_tests,
};
use wavecrew_measure::run::stop_on_signals;
use wavecrew_run::sandbox::program_rules;

/// Show what behaves differently after a change, with an input for each difference
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Exit codes: 0 no difference, 1 differences, 2 bad usage, nothing could be compared, or a possible
difference could not be confirmed in time.

Examples:
  wavecrew diff                                  since the merge base with the default branch
  wavecrew diff HEAD~3 src/cart.py               one file, since an older commit
  wavecrew diff --staged --expect none           guard a refactoring before the commit
  wavecrew diff main..topic --format markdown    for a pull request
  wavecrew diff --write-tests --guard            record what changed and what did not as tests")]
pub struct Args {
    /// The old version, or a range such as `main..topic`, then files and folders [default: the merge base with the
    /// default branch; on that branch HEAD if anything is uncommitted, else HEAD~1]
    #[arg(value_name = "REV|PATHS")]
    words: Vec<String>,
    /// The new version is what is staged, not the files of the working tree
    #[arg(long, conflicts_with = "worktree")]
    staged: bool,
    /// Compare only what is not committed yet
    #[arg(long)]
    worktree: bool,
    /// Time for the whole comparison
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = read_budget)]
    budget: u64,
    /// Fail if there is a difference, or a removed or changed function
    #[arg(long, value_name = "WHAT", value_enum)]
    expect: Option<Expected>,
    /// Write tests that fail on the old version and pass on the new one
    #[arg(long)]
    write_tests: bool,
    /// Write tests of inputs that reach changed code and give the same result
    #[arg(long)]
    guard: bool,
    /// Form of the report
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    format: Format,
    /// Write the report to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Use the old versions of tests that the change touches
    #[arg(long)]
    ignore_tests: bool,
    /// Also compare files in which only comments, layout or types changed
    #[arg(long)]
    cosmetic: bool,
    /// Random seed of the search
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Expected {
    None,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    #[default]
    Text,
    Markdown,
    Html,
}

fn read_budget(text: &str) -> Result<u64, String> {
    read_seconds(text)
        .filter(|seconds| (5..=86_400).contains(seconds))
        .ok_or_else(|| "not a time between 5s and 24h, such as `60s` or `5m`".to_owned())
}

impl Args {
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let here = env::current_dir()?;
        let settings = launch::sandbox_settings(&Config::load(&here)?, &[], &here)?;
        program_rules(&settings).apply();
        let top = top_of(&here).map_err(|error| Failure::with_help(error.to_string(), error.help()))?;
        let request = self.request(&top)?;
        self.check_output()?;
        let stop = stop_on_signals()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let listener = Arc::clone(&stopped);
        std::thread::spawn(move || {
            let mut byte = [0];
            if rustix::io::read(&stop, &mut byte).is_ok() {
                listener.store(true, Ordering::Relaxed);
            }
        });
        let announced = AtomicBool::new(false);
        let compared = compare(&request, &|progress| {
            let goes_on = !stopped.load(Ordering::Relaxed);
            if !goes_on && !announced.swap(true, Ordering::Relaxed) {
                global.note("stopping: confirming what was found so far");
            }
            match progress {
                Progress::Started { files } if files > 0 => {
                    global.note(&format!("comparing {}", count(files, "changed file")));
                }
                Progress::Step { file, what } => global.note(&format!("{}: {what}", file.display())),
                Progress::Found { difference } => {
                    global.note(&format!(
                        "{}: {} differs",
                        difference.file.display(),
                        difference.function
                    ));
                }
                Progress::Started { .. } | Progress::Silent => {}
            }
            goes_on
        });
        let (mut report, tests) = match compared {
            Ok(compared) => compared,
            Err(error) if error.is_nothing_to_compare() => return nothing(global, &error),
            Err(error @ DiffError::Copy(_)) => {
                return Err(Failure::Disk {
                    message: error.to_string(),
                    help: error.help().to_owned(),
                });
            }
            Err(error) => return Err(Failure::with_help(error.to_string(), error.help())),
        };
        report.written = write_tests(&top, tests)?;
        self.show(global, &report)?;
        if global.json && (report.is_empty_handed() || report.is_undecided()) {
            return Ok(Exit::BadInput); // the report has the reason
        }
        self.exit(&report, stopped.load(Ordering::Relaxed))
    }

    fn request(&self, top: &std::path::Path) -> Result<Request, Failure> {
        let mut words = self.words.iter().peekable();
        let mut selection = Selection {
            revision: None,
            staged: self.staged,
            worktree: self.worktree,
        };
        if let Some(first) = words.peek() {
            let path = project::typed(first.as_ref());
            if is_revision(top, first)? {
                selection.revision = words.next().cloned();
            } else if !path.exists() {
                let error = RevisionError::Unknown((*first).clone());
                return Err(Failure::with_help(error.to_string(), error.help()));
            }
        }
        let mut paths = Vec::new();
        for word in words {
            let path = env::current_dir()?.join(project::typed(word.as_ref()));
            let path = path.canonicalize().unwrap_or(path);
            if !path.starts_with(top) {
                return Err(Failure::with_help(
                    format!("{word} is not in the repository {}", top.display()),
                    "name files and folders of this project",
                ));
            }
            paths.push(path);
        }
        Ok(Request {
            folder: top.to_owned(),
            files: None,
            selection,
            paths,
            budget: Duration::from_secs(self.budget),
            seed: self.seed,
            ignore_tests: self.ignore_tests,
            cosmetic: self.cosmetic,
            quick: false,
            tests: WantedTests {
                change: self.write_tests,
                guard: self.guard,
            },
            test_folders: Vec::new(),
            jobs: available_parallelism().map_or(1, usize::from).min(4),
        })
    }

    /// Fails now if the report could not be written later.
    fn check_output(&self) -> Result<(), Failure> {
        let Some(file) = self.output.as_deref().map(project::typed) else {
            return Ok(());
        };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_none_or(std::path::Path::is_dir) && !file.is_dir() {
            return Ok(());
        }
        Err(Failure::Disk {
            message: format!("cannot write {}", file.display()),
            help: "name a file in a folder that exists".to_owned(),
        })
    }

    fn show(&self, global: &Global, report: &Report) -> Result<(), Failure> {
        let text = match self.format {
            Format::Text => render::text(report),
            Format::Markdown => render::markdown(report),
            Format::Html => render::html(report),
        };
        if let Some(file) = &self.output {
            let file = project::typed(file);
            fs::write(&file, text).map_err(|why| Failure::Disk {
                message: format!("cannot write {}: {why}", file.display()),
                help: "name a file in a folder that exists".to_owned(),
            })?;
            for written in &report.written {
                global.note(&format!("wrote {}", written.file.display()));
            }
            global.note(&render::summary(report));
        } else if !global.json {
            let mut out = stdout().lock();
            for line in text.lines() {
                writeln!(out, "{}", safe(line))?;
            }
        }
        if global.json {
            json::print_pretty(report)?;
        }
        Ok(())
    }

    fn exit(&self, report: &Report, stopped: bool) -> Result<Exit, Failure> {
        if stopped && report.differences.is_empty() {
            return Ok(Exit::Interrupted);
        }
        if report.is_empty_handed() {
            return Err(Failure::with_help(
                "nothing could be compared; see the report for the reason",
                "fix what it names, or use a longer --budget",
            ));
        }
        if report.is_undecided() {
            return Err(Failure::with_help(
                "some inputs differed, but the time limit ended before this could be confirmed",
                "use a longer --budget",
            ));
        }
        let breaking = report
            .interface
            .iter()
            .find(|change| change.change.may_break_callers());
        match (self.expect, report.differences.first(), breaking) {
            (Some(Expected::None), Some(first), _) => Err(Failure::NotDone {
                message: format!(
                    "expected no difference, found {}: {}",
                    report.differences.len(),
                    first.function
                ),
                help: "the report shows an input for each".to_owned(),
            }),
            (Some(Expected::None), None, Some(change)) => Err(Failure::NotDone {
                message: format!(
                    "expected no difference, but the interface changed: {}",
                    change.name
                ),
                help: "the report lists every change of the interface".to_owned(),
            }),
            (None, Some(_), _) => Ok(Exit::TasksFailed),
            (_, None, _) => Ok(Exit::Done),
        }
    }
}

/// If there is nothing to compare, there is no difference.
fn nothing(global: &Global, error: &DiffError) -> Result<Exit, Failure> {
    if global.json {
        json::print_pretty(
            serde_json::json!({"differences": [], "interface": [], "message": error.to_string()}),
        )?;
    } else {
        writeln!(stdout(), "{}", safe(&error.to_string()))?;
        global.note(&format!("help: {}", error.help()));
    }
    Ok(Exit::Done)
}
