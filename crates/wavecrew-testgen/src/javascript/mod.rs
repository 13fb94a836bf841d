//! JavaScript and TypeScript: the search runs as a test of the project's own framework, so that modules load as they do in
//! its tests. The helper is JavaScript source in `helpers/javascript`, carried in this binary.

mod file;
mod framework;
mod grief;
mod helper;
mod known;
mod module;
mod project;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use wavecrew_syntax::{Grammar, outline};

use crate::{Defect, LeftOut, Module, Mutants, OfflineError, Progress, Request, Written, modules};
use file::{Test, text};
use framework::{Death, Ended, Laid, Last, Limit, Runner, Trouble};
use grief::Grief;
use known::{Known, known};
use module::Source;
use project::Project;

/// Told of the faults that no test notices.
const MOST_SURVIVORS: usize = 40;
/// What a framework may take to start and to end on a machine that has other things to do.
const AROUND: Duration = Duration::from_mins(3);
/// Budgets are processor time; on a busy machine they may take this much of the clock.
const BUSY_FACTOR: u32 = 12;

/// What a search leaves behind.
#[derive(Debug, Deserialize)]
struct Found {
    /// The lines before the tests.
    top: Vec<String>,
    tests: Vec<Test>,
    covers: Vec<String>,
    calls: u64,
    defects: Vec<Suspect>,
    /// The lines before the tests of suspected defects.
    quarantine_top: Vec<String>,
    left_out: Vec<LeftOut>,
    /// Planted faults that these tests, or those that were there, notice; and those that none does.
    killed: u32,
    survivors: Vec<(u32, String)>,
    /// Tests that were there and were run.
    known: usize,
}

#[derive(Debug, Deserialize)]
struct Suspect {
    kind: String,
    call: String,
    what: String,
    line: u32,
    /// A test that fails until it is mended.
    test: String,
}

pub fn generate(request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Module>, OfflineError> {
    let runner = Runner::find(request)?;
    let helper = helper::lay_out()?;
    let project = Project::read(&request.root);
    let _folder = Laid::in_folder(&request.root.join(&request.laid_in))?;
    modules::each(request, progress, |file, _| {
        let started = Instant::now();
        let mut module = match Source::read(request, &project, file) {
            Ok(source) => {
                let known = known(request, &project, &source, helper.path());
                search(request, &runner, helper.path(), &source, &known)?
            }
            Err(why) => left_out(file, why),
        };
        module.seconds = started.elapsed().as_secs_f64();
        Ok(module)
    })
}

fn search(
    request: &Request,
    runner: &Runner,
    helper: &Path,
    source: &Source,
    known: &[Known],
) -> Result<Module, OfflineError> {
    let mut grief = Grief::default();
    grief.alone = known.is_empty();
    let found = loop {
        let known = if grief.alone { &[] } else { known };
        match look(request, runner, helper, source, known, &grief)? {
            Ok(found) => break found,
            Err(trouble) => {
                if let Err(trouble) = grief.take(trouble) {
                    return Ok(left_out(&source.file, trouble.to_string()));
                }
            }
        }
    };
    let mut module = Module {
        file: source.file.clone(),
        module: source.import_path.clone(),
        calls: found.calls,
        left_out: grief
            .left_out
            .into_iter()
            .chain(found.left_out.iter().cloned())
            .collect(),
        defects: quarantined(request, source, &found)?,
        mutants: (found.killed > 0 || !found.survivors.is_empty()).then(|| Mutants {
            killed: found.killed,
            survived: u32::try_from(found.survivors.len()).unwrap_or(u32::MAX),
        }),
        survivors: found.survivors.iter().take(MOST_SURVIVORS).cloned().collect(),
        ..Module::default()
    };
    if found.tests.is_empty() {
        if found.known > 0 {
            let why = format!(
                "nothing new: the {} there are reach all that was found, and notice the same faults",
                count(found.known)
            );
            let what = source.file.display().to_string();
            module.left_out.push(LeftOut { what, why });
        }
        return Ok(module);
    }
    let path = source.free_name(&request.layer_folder);
    let kept = confirmed(request, runner, source, &path, &found)?;
    if kept.is_empty() {
        let why = "no test came out the same in a process of its own".to_owned();
        let what = source.file.display().to_string();
        module.left_out.push(LeftOut { what, why });
        return Ok(module);
    }
    fs::write(&path, text(&found.top, &kept))?;
    module.written.push(Written {
        path,
        tests: kept
            .iter()
            .map(|test| format!("{} > {}", test.group, test.title))
            .collect(),
        covers: found.covers,
    });
    Ok(module)
}

fn count(tests: usize) -> String {
    format!("{tests} test{}", if tests == 1 { "" } else { "s" })
}

/// Writes a failing test for each suspected defect into a file that frameworks do not collect.
fn quarantined(request: &Request, source: &Source, found: &Found) -> Result<Vec<Defect>, OfflineError> {
    if found.defects.is_empty() {
        return Ok(Vec::new());
    }
    let path = source.quarantine_name(&request.layer_folder);
    let tests: Vec<&str> = found
        .defects
        .iter()
        .map(|suspect| suspect.test.as_str())
        .collect();
    let text = format!("{}\n\n{}\n", found.quarantine_top.join("\n"), tests.join("\n\n"));
    fs::write(&path, text)?;
    let defect = |suspect: &Suspect| Defect {
        kind: suspect.kind.clone(),
        call: suspect.call.clone(),
        what: suspect.what.clone(),
        line: suspect.line,
        quarantine: Some(path.clone()),
    };
    Ok(found.defects.iter().map(defect).collect())
}

/// One search for inputs, in a process of its own.
fn look(
    request: &Request,
    runner: &Runner,
    helper: &Path,
    source: &Source,
    known: &[Known],
    grief: &Grief,
) -> Result<Result<Found, Trouble>, OfflineError> {
    let folder = tempfile::tempdir()?;
    let (out, trail) = (folder.path().join("found.json"), folder.path().join("trail"));
    let outline = Grammar::of(&source.file).map(|language| outline(language, &source.text));
    let mut plan = serde_json::to_value(outline.unwrap_or_default()).map_err(std::io::Error::other)?;
    // Another round looks elsewhere.
    let seed = request.seed.wrapping_add(u64::from(source.round) * 7919) % u64::from(u32::MAX);
    let more = serde_json::json!({
        "file": source.file, "stem": source.stem, "importPath": source.import_path, "shown": source.shown,
        "style": source.style(), "typescript": source.is_typescript(), "framework": runner.name(),
        "seed": seed, "budget": u64::try_from(request.budget_per_module.as_millis()).unwrap_or(u64::MAX),
        "commit": request.commit, "grief": grief, "out": out, "trailFile": trail, "texts": source.texts,
        "known": source.suspected(&request.layer_folder),
        "open": request.round.as_ref().map(|round| serde_json::json!({
            "uncovered": round.uncovered.get(&source.file),
            "survivors": round.surviving_mutants.get(&source.file),
        })),
    });
    if let (Some(plan), serde_json::Value::Object(more)) = (plan.as_object_mut(), more) {
        plan.extend(more);
    }
    let plan_file = folder.path().join("plan.json");
    fs::write(&plan_file, plan.to_string())?;
    let probe = source.probe(runner, helper, &plan_file, known);
    let limit = Limit {
        clock: request.budget_per_module * BUSY_FACTOR + AROUND,
        trail: Some(&trail),
    };
    let name = source.probe_name(runner);
    let laid = known.iter().filter_map(|known| known.laid.as_ref());
    let laid: Vec<(&str, &str)> = laid.map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let ran = runner.run(&source.laid, (&name, &probe), &laid, "UTC", &limit, None)?;
    let found = fs::read(&out)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(found) = found {
        return Ok(Ok(found));
    }
    let trail = fs::read_to_string(&trail).unwrap_or_default();
    let last: Option<Last> = trail
        .lines()
        .next()
        .and_then(|line| serde_json::from_str(line).ok());
    Ok(Err(match (ran.ended, last) {
        (Ended::Hung, Some(last)) => Trouble::Hung(last),
        (Ended::Hung, None) => Trouble::HungLoading,
        (Ended::TooBig, Some(last)) => Trouble::Died {
            last,
            why: Death::Memory(ran.complaint),
        },
        (Ended::ByItself, Some(last)) => Trouble::Died {
            last,
            why: Death::Other,
        },
        (Ended::ByItself | Ended::TooBig, None) => Trouble::Failed(ran.complaint),
    }))
}

/// The tests that pass in a fresh process, in another time zone.
fn confirmed(
    request: &Request,
    runner: &Runner,
    source: &Source,
    path: &Path,
    found: &Found,
) -> Result<Vec<Test>, OfflineError> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut kept = found.tests.clone();
    // What an earlier round wrote and saw fail would fail again.
    let failing: Vec<String> = request
        .round
        .iter()
        .flat_map(|round| &round.failing_tests)
        .map(|name| name.replace(" > ", " "))
        .collect();
    kept.retain(|test| !failing.contains(&format!("{} {}", test.group, test.title)));
    for zone in ["America/New_York", "Asia/Kolkata"] {
        if kept.is_empty() {
            break;
        }
        let report = tempfile::NamedTempFile::new()?;
        let body = text(&found.top, &kept);
        let limit = Limit {
            clock: request.budget_per_module * BUSY_FACTOR + AROUND,
            trail: None,
        };
        runner.run(
            &source.laid,
            (&name, &body),
            &[],
            zone,
            &limit,
            Some(report.path()),
        )?;
        let passed = report::passed(report.path());
        kept.retain(|test| passed.contains(&format!("{} {}", test.group, test.title)));
    }
    Ok(kept)
}

fn left_out(file: &Path, why: String) -> Module {
    Module {
        file: PathBuf::from(file),
        left_out: vec![LeftOut {
            what: file.display().to_string(),
            why,
        }],
        ..Module::default()
    }
}
