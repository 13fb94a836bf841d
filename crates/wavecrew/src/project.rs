//! Which folder is the project: `-C DIR`, or else the nearest folder, from the current one upwards, that looks like one.
//! Paths that a person types stay relative to where they are.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use wavecrew_measure::detect::ROOT_MARKS;
use wavecrew_process::trust_repository;

/// Marks of a project that uses wavecrew: the nearest of these wins.
const OWN_MARKS: [&str; 3] = ["wavecrew.toml", ".wavecrew", ".workflow/.csv-wave"];

#[derive(Default)]
struct ProjectLocation {
    /// The folder that the program was started in.
    start: PathBuf,
    /// The folder that `-C` names.
    given: Option<String>,
    /// From the project to `start`, when the project was found above it.
    below: PathBuf,
}

static PLACE: OnceLock<ProjectLocation> = OnceLock::new();

/// Changes to the project's folder. Returns the folder if it was found above the current one.
pub fn enter(dir: Option<&Path>, search: bool) -> io::Result<Option<PathBuf>> {
    let start = std::env::current_dir()?;
    let root = match dir {
        Some(dir) => dir.to_owned(),
        None if search => root_above(&start, &outer_limits()),
        None => start.clone(),
    };
    std::env::set_current_dir(&root)?;
    trust_repository(Path::new("."));
    let below = match dir {
        Some(_) => PathBuf::new(),
        None => start.strip_prefix(&root).unwrap_or(Path::new("")).to_owned(),
    };
    let found = (!below.as_os_str().is_empty()).then_some(root);
    let given = dir.map(|dir| dir.to_string_lossy().into_owned());
    // Set once per process; tests that never enter a project use the defaults.
    let _ = PLACE.set(ProjectLocation { start, given, below });
    Ok(found)
}

fn place() -> &'static ProjectLocation {
    PLACE.get_or_init(ProjectLocation::default)
}

/// The folder that `-C` names, as it was typed.
pub fn given_dir() -> Option<&'static str> {
    place().given.as_deref()
}

/// A path that a person typed, as seen from the project.
pub fn typed(path: &Path) -> PathBuf {
    place().below.join(path)
}

/// A path as the person would type it from where they are.
pub fn shown(path: &Path) -> String {
    let start = place().start.canonicalize();
    let path = match &start {
        Ok(start) => path.strip_prefix(start).unwrap_or(path),
        Err(_) => path,
    };
    path.display().to_string()
}

/// Folders that never count as projects, because their content is unrelated.
fn outer_limits() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let limits = home.into_iter().chain([std::env::temp_dir(), PathBuf::from("/")]);
    limits.filter_map(|folder| folder.canonicalize().ok()).collect()
}

/// The project that `start` is in; `start` itself where none is found. Does not leave the git repository.
fn root_above(start: &Path, limits: &[PathBuf]) -> PathBuf {
    let mut folders: Vec<&Path> = start
        .ancestors()
        .take_while(|folder| !limits.iter().any(|limit| limit == folder))
        .collect();
    if let Some(repository) = folders.iter().position(|folder| folder.join(".git").exists()) {
        folders.truncate(repository + 1);
    }
    let marked = |marks: &[&str]| {
        let is_marked = |folder: &&&Path| marks.iter().any(|mark| folder.join(mark).exists());
        folders.iter().find(is_marked).copied()
    };
    marked(&OWN_MARKS)
        .or_else(|| marked(ROOT_MARKS))
        .unwrap_or(start)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_project_above_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let limits = [top.clone()];
        let deep = top.join("repo/package/src");
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(root_above(&deep, &limits), deep, "nothing is marked");
        fs::write(top.join("wavecrew.toml"), "").unwrap();
        assert_eq!(root_above(&deep, &limits), deep, "the limit does not count");
        fs::create_dir(top.join("repo/.git")).unwrap();
        assert_eq!(root_above(&deep, &limits), top.join("repo"));
        fs::write(top.join("repo/package/package.json"), "{}").unwrap();
        assert_eq!(root_above(&deep, &limits), top.join("repo/package"));
        fs::write(top.join("repo/wavecrew.toml"), "").unwrap();
        assert_eq!(
            root_above(&deep, &limits),
            top.join("repo"),
            "settings come first"
        );
        assert_eq!(
            root_above(&deep, &[]),
            top.join("repo"),
            "not above the repository"
        );
    }
}
