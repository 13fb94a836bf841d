//! Where the tests of a layer are in the session, and where they go in a copy of the project so that the framework finds
//! them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wavecrew_measure::detect::Language;
use wavecrew_measure::framework::TestFolder;

use crate::scope::{FrameworkInScope, Scope};
use crate::snapshot::Manifest;

/// A file below a layer's folder, with its place in a copy of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Relative to the layer's folder.
    pub file: PathBuf,
    /// Which of the scope's frameworks runs it.
    pub framework: usize,
    /// Relative to the project.
    pub target: PathBuf,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The framework runs it.
    Test,
    /// Support code of tests.
    Helper,
}

/// A file in a layer's folder in place of tests, if the project's own tests cover all that new ones would.
pub const NOTHING_NEW: &str = "nothing-new.md";

/// Whether a file holds tests that show suspected defects. Frameworks do not collect it, and it stays in the session.
pub fn is_quarantined(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("quarantine_") || name.starts_with("quarantine-")
}

/// All files below a folder, relative to it, sorted. Without caches of frameworks and agents.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        let entries = match fs::read_dir(&next) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let kind = entry.file_type()?;
            if name.starts_with('.') || ["__pycache__", "node_modules", NOTHING_NEW].contains(&&*name) {
                continue;
            }
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                found.extend(entry.path().strip_prefix(folder).map(Path::to_owned));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The files of a layer below `folder`, each with its place. Omits files in a language that no framework of the scope
/// tests.
pub fn place(scope: &Scope, layer: &str, folder: &Path) -> io::Result<Vec<Placed>> {
    Ok(files(folder)?
        .into_iter()
        .filter_map(|file| placed(scope, layer, file))
        .collect())
}

fn placed(scope: &Scope, layer: &str, file: PathBuf) -> Option<Placed> {
    let (index, below) = owner(scope, &file)?;
    let framework = &scope.frameworks[index];
    let target = folder_of(framework, layer_name(scope, layer)).join(below);
    Some(Placed {
        kind: if framework.framework.is_test_file(&file) {
            Kind::Test
        } else {
            Kind::Helper
        },
        target,
        framework: index,
        file,
    })
}

/// The last part of the layer's folder: `L1-unit`.
fn layer_name<'a>(scope: &'a Scope, layer: &'a str) -> &'a Path {
    scope
        .folder(layer)
        .and_then(|folder| folder.file_name())
        .map_or(Path::new(layer), Path::new)
}

/// The folder, relative to the project, in which a layer's tests of a framework run.
pub fn folder_of(framework: &FrameworkInScope, layer: &Path) -> PathBuf {
    let root = framework.root.strip_prefix(".").unwrap_or(&framework.root);
    let folder = root.join(&framework.place);
    match framework.framework.facts().test_folder {
        TestFolder::Flat(_) => folder,
        TestFolder::ByConvention => folder.join(layer),
    }
}

/// Which framework a file is for, and its path below that framework's part of the layer. In a project with
/// several roots, the files of each are below its path; other files belong to the first framework of their
/// language.
fn owner<'a>(scope: &Scope, file: &'a Path) -> Option<(usize, &'a Path)> {
    let language = Language::of(file);
    let speaks = |framework: &FrameworkInScope| {
        language.is_none()
            || framework
                .framework
                .language()
                .is_none_or(|own| Some(own) == language)
    };
    let below = scope
        .frameworks
        .iter()
        .enumerate()
        .filter(|(_, framework)| framework.root != Path::new(".") && speaks(framework))
        .filter_map(|(index, framework)| Some((index, file.strip_prefix(&framework.root).ok()?)))
        .min_by_key(|(_, below)| below.components().count());
    below.or_else(|| {
        let own = scope
            .frameworks
            .iter()
            .position(|f| f.root == Path::new(".") && speaks(f));
        Some((own.or_else(|| scope.frameworks.iter().position(speaks))?, file))
    })
}

/// Copies files of a layer into a copy of the project. Dropping the result removes them.
pub fn overlay(tree: &Path, folder: &Path, files: &[Placed], project: &Manifest) -> io::Result<Overlay> {
    let mut overlay = Overlay(Vec::new());
    for placed in files {
        let target = tree.join(&placed.target);
        if project.contains(&placed.target) {
            return Err(io::Error::other(format!(
                "{} is there already: give the new test another name",
                placed.target.display()
            )));
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        overlay.0.push(target.clone());
        fs::copy(folder.join(&placed.file), target)?;
    }
    Ok(overlay)
}

/// Files of a layer in a copy of the project, removed on drop.
#[derive(Debug)]
pub struct Overlay(Vec<PathBuf>);

impl Drop for Overlay {
    fn drop(&mut self) {
        for file in &self.0 {
            // A file that cannot be removed now is removed when the environment is opened next.
            let _ = fs::remove_file(file);
        }
    }
}
