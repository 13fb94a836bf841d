//! A package from a registry may have only built files: then the files that `package.json` names count as its
//! source.

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use wavecrew_measure::detect::{Framework, Language, project_of};

/// The JavaScript files that `package.json` names as the package's entries, relative to the project.
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
    one_of_each_name(found)
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
