//! Applies kept tests: copies them into the project's own test folders, under free names, with imports that resolve there.
//! Overwrites nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use wavecrew_measure::detect::Language;
use wavecrew_measure::framework::TestFolder;
use wavecrew_measure::run::{Collect, MeasureError, Request, Runner, TestOrder};
use wavecrew_measure::{FileCoverage, TestCase, TestId};

use crate::layer::{self, Kind, Placed};
use crate::rounds;
use crate::scope::Scope;

/// A kept file with its future place in the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFile {
    /// Relative to the project.
    pub path: PathBuf,
    pub text: String,
    framework: usize,
    kind: Kind,
}

/// The files to write, and those that exist already.
#[derive(Debug, Default)]
pub struct ApplyPlan {
    pub files: Vec<KeptFile>,
    /// Files with the same text at a place where they would be written.
    pub there: Vec<KeptFile>,
}

pub fn plan(session: &Path, project: &Path, scope: &Scope) -> io::Result<ApplyPlan> {
    let mut plan = ApplyPlan::default();
    let mut taken = BTreeSet::new();
    for layer in &scope.layers {
        let folder = rounds::kept_tests(session, &layer.name);
        let placed = layer::place(scope, &layer.name, &folder)?;
        for (index, framework) in scope.frameworks.iter().enumerate() {
            let mine: Vec<&Placed> = placed
                .iter()
                .filter(|file| file.framework == index && !layer::is_quarantined(&file.file))
                .collect();
            let name = Path::new(layer.folder.file_name().unwrap_or_default());
            let from = layer::folder_of(framework, name);
            // Tests import helpers by their names, so tests with helpers get a folder of their own.
            let own_folder = mine.iter().any(|file| file.kind == Kind::Helper)
                || framework.framework.facts().test_folder != TestFolder::ByConvention;
            let to = if own_folder {
                from.clone()
            } else {
                from.parent().unwrap_or(&from).to_owned()
            };
            for file in mine {
                let below = file.target.strip_prefix(&from).unwrap_or(&file.file);
                let source = fs::read_to_string(folder.join(&file.file))?;
                let moved = Moved {
                    project,
                    from: &from,
                    to: &to,
                };
                let text = moved.text(&file.target, &to.join(below), &source);
                let kept = |path: &Path| KeptFile {
                    path: path.to_owned(),
                    text: text.clone(),
                    framework: index,
                    kind: file.kind,
                };
                for path in names(&to.join(below), layer.team_layer()) {
                    if taken.contains(&path) {
                        continue;
                    }
                    let full = project.join(&path);
                    if fs::read_to_string(&full).is_ok_and(|there| there == text) {
                        plan.there.push(kept(&path));
                    } else if fs::symlink_metadata(&full).is_err() {
                        plan.files.push(kept(&path));
                    } else {
                        continue;
                    }
                    taken.insert(path);
                    break;
                }
            }
        }
    }
    Ok(plan)
}

/// The original name, then the name with the layer in it, then with numbers.
pub(crate) fn names(wanted: &Path, layer: &str) -> impl Iterator<Item = PathBuf> {
    let layer = layer.to_lowercase();
    let file = wanted
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let with = {
        let wanted = wanted.to_owned();
        move |mark: &str| {
            let (stem, end) = match file.find(".test.").or_else(|| file.find(".spec.")) {
                Some(at) => file.split_at(at),
                None => file
                    .rfind('.')
                    .map_or((file.as_str(), ""), |at| file.split_at(at)),
            };
            // Go recognises test files by the end of their names.
            let (stem, end) = match stem.strip_suffix("_test") {
                Some(before) => (before, format!("_test{end}")),
                None => (stem, end.to_owned()),
            };
            wanted.with_file_name(format!("{stem}_{mark}{end}"))
        }
    };
    [wanted.to_owned(), with(&layer)]
        .into_iter()
        .chain((2..1000).map(move |n| with(&format!("{layer}_{n}"))))
}

/// A folder of tests that moves.
struct Moved<'a> {
    project: &'a Path,
    from: &'a Path,
    to: &'a Path,
}

impl Moved<'_> {
    /// The text for the new place: relative paths to files that do not move along are rewritten.
    fn text(&self, was: &Path, is: &Path, source: &str) -> String {
        if self.from == self.to || Language::of(was) != Some(Language::JavaScript) {
            return source.to_owned();
        }
        let (Some(old), Some(new)) = (was.parent(), is.parent()) else {
            return source.to_owned();
        };
        let mut out = String::with_capacity(source.len());
        let mut rest = source;
        while let Some(at) = rest.find(['\'', '"', '`']) {
            let quote = &rest[at..=at];
            out.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            let Some(end) = rest.find([quote.chars().next().unwrap_or('"'), '\n']) else {
                break;
            };
            let word = &rest[..end];
            match self.rewritten(word, old, new) {
                Some(path) => out.push_str(&path),
                None => out.push_str(word),
            }
            out.push_str(&rest[end..=end]);
            rest = &rest[end + 1..];
        }
        out.push_str(rest);
        out
    }

    fn rewritten(&self, word: &str, old: &Path, new: &Path) -> Option<String> {
        if !(word.starts_with("./") || word.starts_with("../")) {
            return None;
        }
        let target = without_dots(&old.join(word))?;
        if target.starts_with(self.from) || !is_module(&self.project.join(&target)) {
            return None;
        }
        let path = relative(new, &target);
        Some(if path.starts_with("..") {
            path
        } else {
            format!("./{path}")
        })
    }
}

/// Whether an import of this path finds a file.
fn is_module(path: &Path) -> bool {
    let endings = [
        "ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts", "json", "vue", "svelte",
    ];
    let with = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{ending}"));
        PathBuf::from(name).is_file()
    };
    // TypeScript imports name the compiled file.
    let source = |ending: &str| path.extension().is_some() && path.with_extension(ending).is_file();
    path.exists() || endings.iter().any(|ending| with(ending) || source(ending))
}

/// Without `.` and `..`; `None` when it leads out of the project.
fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    Some(out)
}

fn relative(from: &Path, to: &Path) -> String {
    let (a, b): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let up = std::iter::repeat_n("..".to_owned(), a.len() - same);
    let down = b[same..]
        .iter()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

impl ApplyPlan {
    /// For a person to see before anything is written.
    pub fn diff(&self) -> String {
        let mut out = String::new();
        for file in &self.files {
            let name = file.path.display().to_string();
            let diff = similar::TextDiff::from_lines("", &file.text);
            out.push_str(&diff.unified_diff().header("/dev/null", &name).to_string());
        }
        out
    }

    /// Writes the files. Skips files that exist by now, removes them from the plan, and returns them.
    pub fn write(&mut self, project: &Path) -> io::Result<Vec<PathBuf>> {
        let mut skipped = Vec::new();
        for file in &self.files {
            let path = project.join(&file.path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            match fs::File::create_new(&path) {
                Ok(mut out) => io::Write::write_all(&mut out, file.text.as_bytes())?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    skipped.push(file.path.clone());
                }
                Err(error) => return Err(error),
            }
        }
        self.files.retain(|file| !skipped.contains(&file.path));
        Ok(skipped)
    }

    /// Runs the new files in their new places, and then together with earlier ones.
    pub fn measure(
        &self,
        project: &Path,
        scope: &Scope,
        cache: &Path,
        runner: impl Fn(PathBuf) -> Runner,
    ) -> Result<Applied, MeasureError> {
        let run = |files: &[&KeptFile]| measure(files, project, scope, || runner(cache.to_owned()));
        let new: Vec<&KeptFile> = self.files.iter().collect();
        let all: Vec<&KeptFile> = self.files.iter().chain(&self.there).collect();
        let with_former = self.there.iter().any(|file| file.kind == Kind::Test);
        Ok(Applied {
            new: run(&new)?,
            with_former: if with_former { Some(run(&all)?) } else { None },
        })
    }
}

fn measure(
    files: &[&KeptFile],
    project: &Path,
    scope: &Scope,
    runner: impl Fn() -> Runner,
) -> Result<AppliedRun, MeasureError> {
    let mut measured = AppliedRun::default();
    for (index, framework) in scope.frameworks.iter().enumerate() {
        let tests: Vec<PathBuf> = files
            .iter()
            .filter(|file| file.framework == index && file.kind == Kind::Test)
            .map(|file| project.join(&file.path))
            .collect();
        if tests.is_empty() {
            continue;
        }
        let owner = framework.in_tree(project);
        let files: Vec<PathBuf> = scope
            .files_of(framework)
            .map(|file| project.join(&file.path))
            .filter(|file| file.exists())
            .collect();
        let found = runner().measure(&Request {
            project: &owner,
            scope: &files,
            tests: &tests,
            coverage: Collect::TestsAndCoverage,
            order: TestOrder::Default,
            canaries: false,
        })?;
        measured.files.extend(found.coverage.files().to_vec());
        measured.tests.extend(found.tests);
    }
    Ok(measured)
}

/// The run of applied tests in the project itself.
#[derive(Debug, Default)]
pub struct Applied {
    pub new: AppliedRun,
    /// The new tests together with those that an earlier apply wrote, if any.
    pub with_former: Option<AppliedRun>,
}

#[derive(Debug, Default)]
pub struct AppliedRun {
    pub tests: Vec<TestCase>,
    pub files: Vec<FileCoverage>,
}

impl Applied {
    /// The tests of an earlier apply, as run together with the new ones.
    pub fn former(&self) -> impl Iterator<Item = &TestCase> {
        let new: BTreeSet<&TestId> = self.new.tests.iter().map(|test| &test.id).collect();
        let all = self.with_former.iter().flat_map(|all| &all.tests);
        all.filter(move |test| !new.contains(&test.id))
    }

    /// All of them together.
    pub fn all(&self) -> &AppliedRun {
        self.with_former.as_ref().unwrap_or(&self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_taken_get_the_layer_and_then_numbers() {
        let some = |name: &str| -> Vec<String> {
            names(Path::new(name), "L1")
                .take(3)
                .map(|path| path.display().to_string())
                .collect()
        };
        assert_eq!(
            some("tests/test_a.py"),
            ["tests/test_a.py", "tests/test_a_l1.py", "tests/test_a_l1_2.py"]
        );
        assert_eq!(some("a.test.ts"), ["a.test.ts", "a_l1.test.ts", "a_l1_2.test.ts"]);
        assert_eq!(
            some("m/x_test.go"),
            ["m/x_test.go", "m/x_l1_test.go", "m/x_l1_2_test.go"]
        );
    }

    #[test]
    fn imports_are_rewritten_for_the_final_place() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("src")).unwrap();
        fs::write(dir.path().join("src/cart.ts"), "").unwrap();
        let moved = Moved {
            project: dir.path(),
            from: Path::new("tests/L1-unit"),
            to: Path::new("tests"),
        };
        let source = "import { a } from '../../src/cart';\nimport b from \"../../src/cart.js\";\nimport c from './helper';\nconst d = '../../no/file';\nit(`it's`, () => {});\n";
        let text = moved.text(
            Path::new("tests/L1-unit/a.test.ts"),
            Path::new("tests/a.test.ts"),
            source,
        );
        assert_eq!(
            text,
            "import { a } from '../src/cart';\nimport b from \"../src/cart.js\";\nimport c from './helper';\nconst d = '../../no/file';\nit(`it's`, () => {});\n"
        );
        assert_eq!(relative(Path::new("src"), Path::new("src/x/y.ts")), "x/y.ts");
    }
}
