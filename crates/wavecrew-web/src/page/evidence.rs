//! The evidence behind a receipt: tests, coverage with the source, surviving mutants, commits, documents.

use super::diff::{diff, line_of};
use super::task::shown_attempt;
use super::{badge, markdown, shortened, without_controls};
use crate::shot::Shot;
use maud::{Markup, html};
use serde_json::Value;
use std::fs;
use std::path::{Component, Path};
use wavecrew_core::engine::WorktreeState;
use wavecrew_core::id::TaskIx;
use wavecrew_core::team::ColumnType;
use wavecrew_core::view::one_line;
use wavecrew_process::git_bytes;
use wavecrew_session::SessionDir;

/// Bytes of a file or a diff, tests, files and mutants that are shown.
const BYTES: usize = 120_000;
const TESTS: usize = 200;
const FILES: usize = 60;
const MUTANTS: usize = 60;
/// Lines of source around those that no test runs.
const AROUND: usize = 2;

pub fn evidence(shot: &Shot<'_>, task: TaskIx) -> Markup {
    let id = shot.ledger.plan().id(task);
    let run = measured_run(
        shot,
        id,
        shown_attempt(shot, task),
        shot.ledger.task(task).attempts,
    );
    let commits = commits(shot, task);
    let files =
        wavecrew_run::checks::claims::delivered(shot.dir.path(), &shot.ledger.team, shot.ledger.plan(), task);
    html! {
        @if run.is_some() || !commits.is_empty() || !files.is_empty() {
            h2 { "Evidence" @if shown_attempt(shot, task) != shot.ledger.task(task).attempts { " of attempt " (shown_attempt(shot, task)) } }
        }
        @if let Some(run) = &run { (measurement(shot, task, run)) }
        @for commit in &commits { (commit_diff(shot, task, commit)) }
        @for path in files.iter().take(FILES) { (document(shot.dir, &shot.key(task, &format!("file-{path}")), path)) }
    }
}

/// The measurement of this attempt, or else of the latest one before it.
fn measured_run(shot: &Shot<'_>, id: &str, shown: u32, latest: u32) -> Option<Value> {
    let rounds = (1..=shown)
        .rev()
        .map(|attempt| shot.dir.round(id, attempt).root().join("results"));
    let at_the_end = (shown == latest).then(|| shot.dir.path().join("results"));
    let folders = rounds.chain(at_the_end);
    for folder in folders {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !name.to_string_lossy().starts_with("run-") {
                continue;
            }
            let run: Option<Value> = fs::read(entry.path())
                .ok()
                .and_then(|text| serde_json::from_slice(&text).ok());
            if let Some(run) = run.filter(|run| run["task"] == id) {
                return Some(run);
            }
        }
    }
    None
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), one_line)
}

fn measurement(shot: &Shot<'_>, task: TaskIx, run: &Value) -> Markup {
    let dropped: Vec<&Value> = list(&run["rejected"]).collect();
    let tests: Vec<&Value> = list(&run["tests"]).collect();
    let survivors: Vec<&Value> = list(&run["mutation"]["survivors"]).collect();
    html! {
        details id=(shot.key(task, "tests")) {
            summary { "Tests: " (run["accepted"]["tests"]) " kept, " (dropped.len()) " dropped" }
            @for test in dropped.iter().take(TESTS) {
                p { (badge("failed")) " " code { (text(&test["file"])) "::" (text(&test["name"])) } ": " (text(&test["why"])) }
                @if let Some(message) = test["message"].as_str() { pre.long tabindex="0" { (without_controls(message)) } }
            }
            table {
                thead { tr { th scope="col" { "Test" } th scope="col" { "Outcome" } th.num scope="col" { "Seconds" } } }
                tbody { @for test in tests.iter().take(TESTS) { tr {
                    td { code { (text(&test["file"])) "::" (text(&test["name"])) } } td { (text(&test["outcome"])) } td.num { (test["seconds"]) }
                } } }
            }
            @if tests.len() > TESTS { p.soft { "and " (tests.len() - TESTS) " more" } }
        }
        details id=(shot.key(task, "coverage")) {
            summary { "Coverage: " (text(&run["coverage_achieved"])) " % of the lines in scope, target " (run["target"]) " %" }
            @for file in list(&run["coverage"]["files"]).take(FILES) { (covered_file(shot, file)) }
        }
        @if run["mutation"].is_object() {
            details id=(shot.key(task, "mutants")) {
                summary { "Mutants: " (run["mutation"]["killed"]) " of " (run["mutation"]["total"]) " killed" }
                @for mutant in survivors.iter().take(MUTANTS) { (survivor(shot, mutant)) }
                @if survivors.is_empty() { p.soft { "No mutant survives." } }
            }
        }
    }
}

fn covered_file(shot: &Shot<'_>, file: &Value) -> Markup {
    let path = text(&file["path"]);
    let missed: Vec<usize> = list(&file["missed"])
        .filter_map(|line| usize::try_from(line.as_u64()?).ok())
        .collect();
    let near = |line: usize| missed.iter().any(|missed| missed.abs_diff(line) <= AROUND);
    let source = if missed.is_empty() {
        None
    } else {
        project_file(shot, &path)
    };
    html! {
        h3 { code { (path) } " " span.soft { (file["lines"]["covered"]) " of " (file["lines"]["total"]) " lines" } }
        @if let Some(source) = source {
            div.scroll tabindex="0" { table.source {
                caption.visually-hidden { "Lines of " (path) " that no passing test runs" }
                tbody { @for (at, line) in source.lines().enumerate().filter(|(at, _)| near(at + 1)).take(400) {
                    tr class=[missed.contains(&(at + 1)).then_some("missed")] {
                        th scope="row" { (at + 1) } td { @if missed.contains(&(at + 1)) { span.visually-hidden { "not run: " } } (without_controls(line)) }
                    }
                } }
            } }
        } @else if !missed.is_empty() { p { "Lines that no passing test runs: " (missed.len()) } }
    }
}

/// A surviving mutant, shown as a diff.
fn survivor(shot: &Shot<'_>, mutant: &Value) -> Markup {
    let (path, line) = (text(&mutant["file"]), mutant["line"].as_u64().unwrap_or(0));
    let description = mutant["description"].as_str().unwrap_or_default();
    let source = project_file(shot, &path).unwrap_or_default();
    let before = usize::try_from(line)
        .ok()
        .and_then(|line| source.lines().nth(line.checked_sub(1)?))
        .unwrap_or_default();
    let change = description
        .split_once("` became `")
        .and_then(|(from, to)| Some((from.strip_prefix('`')?, to.strip_suffix('`')?)));
    let after = change
        .filter(|(from, _)| before.contains(from))
        .map(|(from, to)| before.replacen(from, to, 1));
    html! {
        div.diff tabindex="0" role="region" aria-label={ "Surviving mutant in " (path) " line " (line) } {
            span.file { (path) ":" (line) "  " (one_line(description)) }
            @if let Some(after) = after { (line_of(Some(line), None, &format!("-{before}"))) (line_of(None, Some(line), &format!("+{after}"))) }
            @else if !before.is_empty() { (line_of(Some(line), Some(line), &format!(" {before}"))) }
        }
    }
}

/// Commits that the report names or that the work was merged as.
fn commits(shot: &Shot<'_>, task: TaskIx) -> Vec<String> {
    let (ledger, state) = (shot.ledger, shot.ledger.task(task));
    let named = state.result.outputs.iter().filter(|(name, _)| {
        ledger
            .team
            .column(name)
            .is_some_and(|column| column.type_ == ColumnType::Commit)
    });
    let merged = match state.worktree.as_deref().map(|worktree| &worktree.state) {
        Some(WorktreeState::Merged { commit: Some(commit) }) => Some(commit.clone()),
        Some(WorktreeState::Merged { commit: None } | WorktreeState::Open | WorktreeState::Refused)
        | None => None,
    };
    let mut commits: Vec<String> = named.map(|(_, commit)| commit.clone()).chain(merged).collect();
    commits.retain(|commit| commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()));
    commits.dedup();
    commits
}

fn commit_diff(shot: &Shot<'_>, task: TaskIx, commit: &str) -> Markup {
    let words = ["show", "--no-color", "--stat", "--patch", commit];
    let shown = git_bytes(shot.project(), &words).ok().flatten();
    let text = shown.map(|shown| String::from_utf8_lossy(&shown).into_owned());
    html! {
        details id=(shot.key(task, &format!("commit-{commit}"))) {
            summary { "Commit " code { (commit) } }
            @match text { Some(text) => (diff(&text)), None => p { "The repository has no such commit." } }
        }
    }
}

/// A delivered file: Markdown rendered, everything else as text.
pub fn document(dir: &SessionDir, id: &str, path: &str) -> Markup {
    let bytes = inside(dir.path(), path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let is_markdown = Path::new(path)
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("md"));
    html! {
        details id=(id) {
            summary { "File " code { (one_line(path)) } }
            @if bytes.contains(&0) { p.soft { "Not a text file: " (bytes.len()) " bytes." } }
            @else if is_markdown { div.long tabindex="0" { (markdown::render(&text)) } }
            @else { pre.long tabindex="0" { (without_controls(&shortened(&text, BYTES))) } }
        }
    }
}

fn project_file(shot: &Shot<'_>, path: &str) -> Option<String> {
    inside(shot.project(), path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The beginning of a file below a folder. Names and links that lead out of the folder are refused.
fn inside(folder: &Path, path: &str) -> Option<Vec<u8>> {
    use std::io::Read;
    let relative = Path::new(path);
    if !relative
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    {
        return None;
    }
    let root = folder.canonicalize().ok()?;
    let file = root
        .join(relative)
        .canonicalize()
        .ok()
        .filter(|file| file.starts_with(&root) && file.is_file())?;
    let mut bytes = Vec::new();
    fs::File::open(file)
        .ok()?
        .take(BYTES as u64 * 2)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_outside_of_the_folder_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("session");
        fs::create_dir(&session).unwrap();
        fs::write(folder.path().join("secret"), "s").unwrap();
        fs::write(session.join("mine"), "m").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), session.join("link")).unwrap();
        assert_eq!(inside(&session, "mine"), Some(b"m".to_vec()));
        for bad in ["../secret", "/etc/hostname", "link", "none"] {
            assert_eq!(inside(&session, bad), None, "{bad}");
        }
    }
}
