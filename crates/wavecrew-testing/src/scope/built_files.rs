//! A package from a registry may have only built files: then the files that `package.json` names count as its
//! source.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use wavecrew_measure::detect::{Framework, Language, project_of};

/// As many files as a package of built files can have in scope.
const MOST_FILES: usize = 300;
/// What comes before the path of an imported file.
static IMPORT_WORDS: [&str; 3] = ["from", "import", "require"];

/// The JavaScript files that `package.json` names as the package's entries, and those of the package that they import,
/// relative to the project.
pub(super) fn entries(project: &Path) -> Vec<PathBuf> {
    let Ok(text) = fs::read_to_string(project.join("package.json")) else {
        return Vec::new();
    };
    let package: Value = serde_json::from_str(&text).unwrap_or_default();
    let mut named = Vec::new();
    for key in ["exports", "module", "main"] {
        paths_in(&package[key], &mut named);
    }
    let mut found: Vec<PathBuf> = named
        .iter()
        .map(|path| path.trim_start_matches("./"))
        .filter(|path| !path.contains(".d.") && !path.contains(".min.") && !path.contains('*'))
        .map(PathBuf::from)
        .filter(|path| path.components().all(|part| matches!(part, Component::Normal(_))))
        .filter(|path| Language::of(path).is_some() && project.join(path).is_file())
        .collect();
    found.sort_by_key(|path| (path.with_extension(""), module_system(project, path)));
    found.dedup();
    with_imports(project, one_of_each_name(found))
}

fn with_imports(project: &Path, entries: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found: BTreeSet<PathBuf> = entries.iter().cloned().collect();
    let is_folder = |entry: &&PathBuf| entry.components().count() > 1;
    let built: BTreeSet<PathBuf> = entries
        .iter()
        .filter(is_folder)
        .map(|entry| first(entry))
        .collect();
    let mut open = entries;
    while let Some(file) = open.pop() {
        let text = fs::read_to_string(project.join(&file)).unwrap_or_default();
        let folder = file.parent().unwrap_or(Path::new(""));
        for import in relative_imports(&text) {
            let Some(path) = imported_file(project, folder, import) else {
                continue;
            };
            // What else they import may be vendored or generated.
            if found.len() < MOST_FILES && built.contains(&first(&path)) && found.insert(path.clone()) {
                open.push(path);
            }
        }
    }
    found.into_iter().collect()
}

fn first(path: &Path) -> PathBuf {
    path.components().take(1).collect()
}

/// The paths in `import`, `export` and `require` that start with a dot.
fn relative_imports(text: &str) -> impl Iterator<Item = &str> {
    let after = IMPORT_WORDS.iter().flat_map(move |word| {
        text.match_indices(word)
            .map(move |(at, _)| &text[at + word.len()..])
    });
    after.filter_map(|rest| {
        let rest = rest.trim_start_matches([' ', '(']);
        let quote = rest.chars().next().filter(|first| ['\'', '"'].contains(first))?;
        let (path, _) = rest[1..].split_once(quote)?;
        path.starts_with('.').then_some(path)
    })
}

fn imported_file(project: &Path, folder: &Path, import: &str) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    for part in Path::new(import).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir if path.pop() => {}
            Component::CurDir => {}
            _ => return None,
        }
    }
    let with_ending = |ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    ["", ".js", ".mjs", ".cjs", "/index.js"]
        .map(with_ending)
        .into_iter()
        .find(|file| Language::of(file).is_some() && project.join(file).is_file())
}

/// The preferred of several module systems comes first: vitest measures no coverage of `.cjs`, jest loads no `.mjs`.
fn module_system(project: &Path, path: &Path) -> Option<usize> {
    let owner = project_of(&project.join(path), project);
    let order = match owner.map(|owner| owner.framework) {
        Some(Framework::Jest) => ["cjs", "js", "mjs"],
        _ => ["mjs", "js", "cjs"],
    };
    order
        .iter()
        .position(|known| path.extension().is_some_and(|own| own == *known))
}

fn paths_in(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(path) => found.push(path.clone()),
        Value::Array(items) => items.iter().for_each(|item| paths_in(item, found)),
        Value::Object(items) => items.values().for_each(|item| paths_in(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A module often exists for several module systems: `index.cjs`, `index.mjs`. One of them is enough.
fn one_of_each_name(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for file in files {
        if !kept.iter().any(|known| known.file_stem() == file.file_stem()) {
            kept.push(file);
        }
    }
    kept
}
