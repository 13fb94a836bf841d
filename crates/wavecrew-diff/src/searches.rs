//! Which file is searched when and for how long: changed tests first, then modules in parallel, within the time.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use wavecrew_measure::framework::Language;
use wavecrew_testgen::GenerateError;
use wavecrew_testgen::diff::{self, ChangedFile, CompareProgress, ComparedModule, ModuleTime, Versions};

use crate::request::{DiffError, Progress, Request};

/// Search time of a module in its wall time: the old version runs each input too, and results are confirmed afterwards.
const SEARCH_SHARE: f64 = 0.28;
/// The share of the time for changed tests, and the most that they get.
const SUITE_SHARE: f64 = 0.5;
const LONGEST_SUITE: Duration = Duration::from_secs(30);
/// The maximum search time of one module: a longer search finds little more.
const LONGEST_SEARCH: Duration = Duration::from_secs(20);
/// The shortest time for which a module is searched.
const LEAST: Duration = Duration::from_secs(3);
/// The minimum for a module, even if others then get no time.
const LEAST_SHARE: Duration = Duration::from_secs(20);
/// The time kept for copying, ending processes and the report.
const RESERVE: Duration = Duration::from_millis(1500);

/// Runs the tests that the change touches on both versions, one language after the other.
pub(crate) fn run_suites(
    versions: &Versions,
    deadline: Instant,
    on_progress: &(dyn Fn(Progress<'_>) -> bool + Sync),
) -> Result<Vec<ComparedModule>, DiffError> {
    let mut suites = Vec::new();
    for language in [Language::Python, Language::JavaScript] {
        let left = deadline
            .saturating_duration_since(Instant::now())
            .saturating_sub(RESERVE);
        let of_language = |file: &&ChangedFile| Language::of(&file.file) == Some(language);
        let Some(file) = versions.changed.iter().find(of_language) else {
            continue;
        };
        let time = ModuleTime {
            budget: Duration::ZERO,
            until: Instant::now() + left.mul_f64(SUITE_SHARE).min(LONGEST_SUITE),
        };
        if left < LEAST || !on_progress(Progress::Silent) {
            break;
        }
        suites.push(diff::run_suite(versions, language, time, &mut |progress| {
            on_progress(progress_of(&file.file, &progress))
        })?);
    }
    Ok(suites)
}

fn progress_of<'a>(file: &'a Path, progress: &'a CompareProgress<'_>) -> Progress<'a> {
    match progress {
        CompareProgress::Step(what) => Progress::Step { file, what },
        CompareProgress::Confirmed(difference) => Progress::Found { difference },
        CompareProgress::Silent => Progress::Silent,
    }
}

/// Compares all modules, several at a time, those with the largest changes first.
pub(crate) fn search_all(
    request: &Request,
    versions: &Versions,
    deadline: Instant,
    on_progress: &(dyn Fn(Progress<'_>) -> bool + Sync),
) -> Result<Vec<ComparedModule>, DiffError> {
    let mut files: Vec<&ChangedFile> = versions.changed.iter().collect();
    files.sort_by_key(|file| {
        let lines: u32 = file.new_lines.iter().map(|(first, last)| last - first + 1).sum();
        (file.spans.is_empty(), std::cmp::Reverse(lines))
    });
    let jobs = request.jobs.clamp(1, files.len().max(1));
    let todo: Mutex<VecDeque<&ChangedFile>> = Mutex::new(files.into());
    let done: Mutex<Vec<ComparedModule>> = Mutex::default();
    let failure: Mutex<Option<GenerateError>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((file, time)) = next(&todo, deadline, jobs) {
                    let goes_on = on_progress(Progress::Silent);
                    let Some(time) = time.filter(|_| goes_on) else {
                        push(&done, not_reached(&file.file, goes_on));
                        continue;
                    };
                    let compared = diff::compare(versions, &file.file, time, &mut |progress| {
                        on_progress(progress_of(&file.file, &progress))
                    });
                    match compared {
                        Ok(module) => push(&done, module),
                        Err(error) => {
                            failure
                                .lock()
                                .unwrap_or_else(PoisonError::into_inner)
                                .get_or_insert(error);
                        }
                    }
                }
            });
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error.into()),
        None => Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

fn push(done: &Mutex<Vec<ComparedModule>>, module: ComparedModule) {
    done.lock().unwrap_or_else(PoisonError::into_inner).push(module);
}

fn not_reached(file: &Path, goes_on: bool) -> ComparedModule {
    let why = if goes_on {
        wavecrew_testgen::NOT_REACHED
    } else {
        "stopped before its search began"
    };
    ComparedModule {
        file: file.to_owned(),
        dropped: vec![wavecrew_testgen::Dropped {
            what: file.display().to_string(),
            why: why.to_owned(),
        }],
        ..ComparedModule::default()
    }
}

/// The next file with its time; no time if too little is left.
fn next<'f>(
    todo: &Mutex<VecDeque<&'f ChangedFile>>,
    deadline: Instant,
    jobs: usize,
) -> Option<(&'f ChangedFile, Option<ModuleTime>)> {
    let mut todo = todo.lock().unwrap_or_else(PoisonError::into_inner);
    let turns = todo.len().div_ceil(jobs).max(1);
    let file = todo.pop_front()?;
    let now = Instant::now();
    let left = deadline.saturating_duration_since(now).saturating_sub(RESERVE);
    if left < LEAST {
        return Some((file, None));
    }
    let share = (left / u32::try_from(turns).unwrap_or(u32::MAX)).max(LEAST_SHARE);
    let time = ModuleTime {
        budget: share.mul_f64(SEARCH_SHARE).min(LONGEST_SEARCH),
        until: now + share.min(left),
    };
    Some((file, Some(time)))
}
