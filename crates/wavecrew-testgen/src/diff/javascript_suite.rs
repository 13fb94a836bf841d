//! The JavaScript tests that a change touches, run on both versions by the project's own vitest or jest: each test whole, and
//! reduced to single assertions. The shortest copy of a test that passes on the new version only is a difference.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;
use wavecrew_process::sandbox::spawn_confined;

use super::javascript::{Side, package_of};
use super::{CompareProgress, ComparedModule, Difference, ModuleTime, TestFile, Versions};
use crate::GenerateError;
use crate::helper_files::unpack;
use crate::javascript::report::{Case, cases};
use crate::javascript::runner::Runner;
use crate::javascript::supervised::{Limits, node_environment};
use crate::javascript::{HELPER, PACKAGE, helper_folder};
use crate::process_tree::ProcessTree;
use crate::python::helper_process::{Continuation, listen};

/// More differences of tests say little more.
const MAX_DIFFERENCES: usize = 8;
const MAX_SHOWN: usize = 300;
const LEAST_RUN: Duration = Duration::from_secs(3);

/// The copies of the changed tests of one file.
#[derive(Deserialize)]
struct TestCopies {
    file: PathBuf,
    folder: PathBuf,
    /// The path of the file with the tests that are written.
    name: PathBuf,
    group: String,
    imports: Vec<String>,
    /// What comes after the imports.
    header: Vec<String>,
    copies: Vec<TestCopy>,
}

#[derive(Deserialize)]
struct TestCopy {
    /// The number of the test that this is a copy of.
    test: usize,
    title: String,
    text: String,
    /// The title and the text without a number.
    name: String,
    shown: String,
    imports: Vec<String>,
    input: String,
}

impl TestCopies {
    /// A file with some copies. `first` are its first lines.
    fn text<'c>(
        &'c self,
        first: &[String],
        copies: impl Iterator<Item = &'c TestCopy>,
        text: impl Fn(&TestCopy) -> &str,
    ) -> String {
        let (mut imports, mut bodies) = (Vec::new(), Vec::new());
        for copy in copies {
            imports.extend(
                copy.imports
                    .iter()
                    .filter(|line| !imports.contains(line))
                    .collect::<Vec<_>>(),
            );
            bodies.push(text(copy));
        }
        let lines: Vec<&str> = [first, &self.imports]
            .into_iter()
            .flatten()
            .chain(imports)
            .chain(&self.header)
            .map(String::as_str)
            .collect();
        format!(
            "{}\n\ndescribe('{}', () => {{\n{}\n}});\n",
            lines.join("\n"),
            quoted(&self.group),
            bodies.join("\n\n")
        )
    }

    /// The file that has one copy only.
    fn written(&self, copy: &TestCopy, commit: Option<&str>) -> TestFile {
        let of_commit = commit
            .map(|commit| format!(", as of commit {commit}"))
            .unwrap_or_default();
        let first = format!(
            "// Reduced from {}{of_commit}. A failure means that behaviour changed, not that the change is wrong.",
            self.file.display()
        );
        TestFile {
            name: self.name.to_string_lossy().into_owned(),
            text: self.text(&[first], std::iter::once(copy), |copy| &copy.shown),
            tests: vec![format!("{} > {}", self.group, copy.name)],
            kind: "change".to_owned(),
        }
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

pub fn run(
    versions: &Versions,
    file: &Path,
    time: ModuleTime,
    on_progress: &mut dyn FnMut(CompareProgress<'_>) -> bool,
) -> Result<ComparedModule, GenerateError> {
    let mut module = ComparedModule {
        file: file.to_owned(),
        complete: true,
        ..ComparedModule::default()
    };
    let package = package_of(&versions.new_root, file);
    let sides = [&versions.old_root, &versions.new_root].map(|root| Side::new(root, &package, None, file));
    let [Ok(old), Ok(new)] = sides else {
        return Ok(module);
    };
    let (Some(before), Some(after)) = (&old.runner, &new.runner) else {
        return Ok(module);
    };
    let files: Vec<TestCopies> = copies(versions, &package, after, time.until)?;
    // From now on both versions have the same tests, and what belongs to them.
    for path in &versions.test_files {
        let target = versions.old_root.join(path);
        if let Some(folder) = target.parent().filter(|_| !files.is_empty()) {
            fs::create_dir_all(folder)?;
            fs::copy(versions.new_root.join(path), target)?;
        }
    }
    let roots = [
        (before, versions.old_root.as_path()),
        (after, versions.new_root.as_path()),
    ];
    let mut causes = BTreeSet::new();
    for one in &files {
        let left = time.until.saturating_duration_since(Instant::now());
        let count = one
            .copies
            .iter()
            .map(|copy| copy.test)
            .max()
            .map_or(0, |last| last + 1);
        let what = format!(
            "running {count} changed tests of {} in both versions",
            one.file.display()
        );
        if left < LEAST_RUN || !on_progress(CompareProgress::Step(&what)) {
            module.complete = false;
            break;
        }
        let all = one.text(&[], one.copies.iter(), |copy| &copy.text);
        let Some(telling) = telling_in(one, &all, roots, time.until)? else {
            continue;
        };
        // The shortest copy of each test.
        let mut best: BTreeMap<usize, (&TestCopy, &str)> = BTreeMap::new();
        for (copy, message) in one
            .copies
            .iter()
            .filter_map(|copy| Some((copy, telling.get(&format!("{} {}", one.group, copy.title))?)))
        {
            let known = best.get(&copy.test);
            if known.is_none_or(|(other, _)| copy.text.len() < other.text.len()) {
                best.insert(copy.test, (copy, message));
            }
        }
        best.retain(|_, (copy, _)| causes.len() < MAX_DIFFERENCES && causes.insert(copy.input.clone()));
        if best.is_empty() {
            continue;
        }
        // Once more, without the other copies.
        let chosen = one.text(&[], best.values().map(|(copy, _)| *copy), |copy| &copy.text);
        let again = telling_in(one, &chosen, roots, time.until)?.unwrap_or_default();
        best.retain(|_, (copy, _)| again.contains_key(&format!("{} {}", one.group, copy.title)));
        for (copy, message) in best.into_values() {
            let written = one.written(copy, versions.commit.as_deref());
            let difference = difference(versions, file, copy, message, &written);
            on_progress(CompareProgress::Confirmed(Box::new(difference.clone())));
            module.differences.push(difference);
            if versions.tests.change {
                module.tests.push(written);
            }
        }
    }
    Ok(module)
}

/// The copies of the changed tests of all files.
fn copies(
    versions: &Versions,
    package: &Path,
    runner: &Runner,
    until: Instant,
) -> Result<Vec<TestCopies>, GenerateError> {
    let tests: Vec<_> = versions
        .changed_tests
        .iter()
        .filter(|test| package_of(&versions.new_root, test) == package)
        .map(|test| json!({"file": test, "old": fs::read_to_string(versions.old_root.join(test)).ok()}))
        .collect();
    if tests.is_empty() {
        return Ok(Vec::new());
    }
    let helper = unpack(HELPER, PACKAGE)?;
    let temp = tempfile::Builder::new().prefix("wavecrew-testgen-").tempdir()?;
    let request = temp.path().join("request.json");
    let framework = runner.name();
    fs::write(
        &request,
        json!({"new_root": versions.new_root, "tests": tests, "framework": framework}).to_string(),
    )?;
    let mut command = Command::new("node");
    command
        .arg(helper_folder(helper.path()).join("suite_copies.cjs"))
        .arg(&request);
    node_environment(&mut command, temp.path());
    let child = spawn_confined(&mut command, &[temp.path()]).map_err(|why| GenerateError::Interpreter {
        program: PathBuf::from("node"),
        why,
    })?;
    let mut found = Vec::new();
    listen(ProcessTree(child), until, |line| {
        if let Some(line) = line {
            found = serde_json::from_str(line).unwrap_or_default();
        }
        Continuation::Continue
    });
    Ok(found)
}

/// The full titles of the tests of a text that pass on the new version only, with the message of their failure. `None` if a
/// version could not run them.
fn telling_in(
    place: &TestCopies,
    text: &str,
    [old, new]: [(&Runner, &Path); 2],
    until: Instant,
) -> Result<Option<BTreeMap<String, String>>, GenerateError> {
    let run = |(runner, root): (&Runner, &Path)| -> Result<Option<Vec<Case>>, GenerateError> {
        let name = place.name.file_name().unwrap_or_default().to_string_lossy();
        let report = tempfile::NamedTempFile::new()?;
        let limits = Limits {
            wall_time: until.saturating_duration_since(Instant::now()).max(LEAST_RUN),
            trace: None,
        };
        let folder = root.join(&place.folder);
        fs::create_dir_all(&folder)?;
        let name = format!("wavecrew-{name}");
        runner.run(
            &folder,
            (&name, text),
            &[],
            "Pacific/Apia",
            &limits,
            Some(report.path()),
        )?;
        Ok(cases(report.path()))
    };
    let (before, after) = thread::scope(|scope| {
        let before = scope.spawn(|| run(old));
        let after = run(new);
        (before.join(), after)
    });
    let (Ok(before), Some(after)) = (before, after?) else {
        return Ok(None);
    };
    let Some(before) = before? else {
        return Ok(None);
    };
    let passed: BTreeSet<&str> = after
        .iter()
        .filter(|case| case.status == "passed")
        .map(|case| case.full_name.as_str())
        .collect();
    Ok(Some(
        before
            .iter()
            .filter(|case| case.status == "failed" && passed.contains(case.full_name.as_str()))
            .map(|case| (case.full_name.clone(), message(case)))
            .collect(),
    ))
}

fn message(case: &Case) -> String {
    let first = case.failure_messages.first().map_or("", String::as_str);
    let line = first.lines().next().unwrap_or_default();
    let plain: String = line.chars().take(MAX_SHOWN).collect();
    plain.trim_end_matches(':').to_owned()
}

fn difference(
    versions: &Versions,
    file: &Path,
    copy: &TestCopy,
    message: &str,
    written: &TestFile,
) -> Difference {
    let mut lines: Vec<String> = copy.input.lines().map(str::to_owned).collect();
    let input = lines.pop().unwrap_or_default();
    Difference {
        file: file.to_owned(),
        function: copy.name.clone(),
        kind: "test".to_owned(),
        setup: lines,
        input,
        before: format!("fails: {message}"),
        after: "passes".to_owned(),
        cause_file: file.to_owned(),
        inputs: 1,
        test: versions.tests.change.then(|| written.text.clone()),
        ..Difference::default()
    }
}
