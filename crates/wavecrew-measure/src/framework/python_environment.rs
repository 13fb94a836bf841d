//! Finds the Python interpreter of a project: virtual environments of venv, uv, tox, nox, poetry, pipenv and conda. Starts
//! nothing.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Usual names of an environment, most specific first.
const NAMES: [&str; 4] = [".venv", "venv", "env", ".env"];

/// Whether a folder is an environment of Python, not code of a project.
pub fn is_environment(folder: &Path) -> bool {
    folder.join("pyvenv.cfg").is_file() || folder.join("conda-meta").is_dir()
}

/// The interpreter for a project: that of its own environment, of the active one, of one that a tool keeps for it, else the
/// one on `PATH`.
pub fn interpreter(root: &Path) -> PathBuf {
    find(root, |name| env::var_os(name)).unwrap_or_else(|| PathBuf::from("python3"))
}

/// The command that installs packages for tests of a project, with the tool that manages its environment. Paths in it do not
/// show in which copy of the project it is asked for.
pub fn install_command(root: &Path, packages: &[&str]) -> String {
    let packages = packages.join(" ");
    let tools = [
        ("uv.lock", "uv add --dev"),
        ("poetry.lock", "poetry add --group dev"),
        ("pdm.lock", "pdm add --dev"),
        ("Pipfile", "pipenv install --dev"),
    ];
    let of_folder = |folder: &Path| {
        let (_, tool) = tools.iter().find(|(file, _)| folder.join(file).is_file())?;
        Some(*tool)
    };
    let by_settings = || {
        fs::read_to_string(root.join("pyproject.toml"))
            .is_ok_and(|text| text.contains("[tool.poetry"))
            .then_some("poetry add --group dev")
    };
    if let Some(tool) = root.ancestors().find_map(of_folder).or_else(by_settings) {
        return format!("{tool} {packages}");
    }
    let python = interpreter(root);
    let holder = python.ancestors().nth(3).unwrap_or(Path::new(""));
    let shown = match python.strip_prefix(holder) {
        Ok(inside) if root.starts_with(holder) => inside,
        _ => &python,
    };
    format!("{} -m pip install {packages}", shown.display())
}

fn find(root: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let usual = root
        .ancestors()
        .flat_map(|folder| NAMES.map(|name| folder.join(name)));
    let other = folders_in(root)
        .into_iter()
        .filter(|folder| is_environment(folder));
    let active = ["VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "CONDA_PREFIX"];
    let active = active
        .into_iter()
        .filter_map(&variable)
        .map(|path| root.join(path));
    let test_tools = [".tox", ".nox"];
    let test_tools = test_tools
        .into_iter()
        .flat_map(|name| folders_in(&root.join(name)))
        .filter(|folder| has_pytest(folder));
    let kept = kept_elsewhere(root, &variable);
    usual
        .chain(other)
        .chain(active)
        .chain(test_tools)
        .chain(kept)
        .map(|environment| environment.join("bin/python"))
        .find(|python| python.exists())
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// Tools make environments for other purposes too, such as linting.
fn has_pytest(environment: &Path) -> bool {
    let versions = folders_in(&environment.join("lib"));
    versions
        .iter()
        .any(|version| version.join("site-packages/pytest").is_dir())
}

/// Environments that poetry and pipenv keep outside of the project, by its name.
fn kept_elsewhere(root: &Path, variable: &impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let has =
        |file: &str, text: &str| fs::read_to_string(root.join(file)).is_ok_and(|found| found.contains(text));
    let home = variable("HOME").map(PathBuf::from).unwrap_or_default();
    let mut found = Vec::new();
    if has("pyproject.toml", "poetry") || root.join("poetry.lock").is_file() {
        let cache = variable("POETRY_VIRTUALENVS_PATH").map_or_else(
            || {
                let cache = variable("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
                cache.join("pypoetry/virtualenvs")
            },
            PathBuf::from,
        );
        let name = project_name(root)
            .unwrap_or_default()
            .to_lowercase()
            .replace(['_', '.'], "-");
        found.extend(named(&cache, &name));
    }
    if root.join("Pipfile").is_file() {
        let data =
            variable("WORKON_HOME").map_or_else(|| home.join(".local/share/virtualenvs"), PathBuf::from);
        let name = root
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        found.extend(named(&data, &name));
    }
    found
}

fn project_name(root: &Path) -> Option<String> {
    let text = fs::read_to_string(root.join("pyproject.toml")).ok()?;
    let settings: toml::Table = toml::from_str(&text).ok()?;
    let poetry = || settings.get("tool")?.get("poetry")?.get("name")?.as_str();
    let standard = || settings.get("project")?.get("name")?.as_str();
    poetry().or_else(standard).map(str::to_owned)
}

/// Environments of a project: its name and a hash.
fn named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let prefix = format!("{name}-");
    let is_of_project = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        !name.is_empty() && file.starts_with(&prefix)
    };
    folders_in(folder).into_iter().filter(is_of_project).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(top: &Path, files: &[&str]) {
        for file in files {
            let path = top.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "[tool.poetry]\nname = \"My_Shop\"\n").unwrap();
        }
    }

    #[test]
    fn packages_are_installed_with_the_tool_of_the_project() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("packages/shop");
        make(&root, &["setup.py", ".venv/bin/python"]);
        let command = || install_command(&root, &["pytest", "coverage"]);
        assert_eq!(command(), ".venv/bin/python -m pip install pytest coverage");
        for (lock, expected) in [
            ("packages/Pipfile", "pipenv install --dev pytest coverage"),
            (
                "packages/shop/poetry.lock",
                "poetry add --group dev pytest coverage",
            ),
            ("packages/shop/uv.lock", "uv add --dev pytest coverage"),
        ] {
            make(top.path(), &[lock]);
            assert_eq!(command(), expected);
        }
    }

    #[test]
    fn environments_of_every_tool_are_found() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("shop");
        let none = |_: &str| None;
        let found = |variable: &dyn Fn(&str) -> Option<OsString>| {
            find(&root, variable).map(|path| path.strip_prefix(top.path()).unwrap().display().to_string())
        };
        // Each one goes before those that were made earlier.
        make(
            top.path(),
            &["shop/pyproject.toml", "cache/my-shop-x1-py3.13/bin/python"],
        );
        let poetry =
            |name: &str| (name == "POETRY_VIRTUALENVS_PATH").then(|| top.path().join("cache").into());
        assert_eq!(found(&none), None);
        assert_eq!(found(&poetry).unwrap(), "cache/my-shop-x1-py3.13/bin/python");
        make(&root, &[".tox/lint/bin/python", ".tox/py313/bin/python"]);
        make(
            &root,
            &[".tox/py313/lib/python3.13/site-packages/pytest/__init__.py"],
        );
        assert_eq!(found(&poetry).unwrap(), "shop/.tox/py313/bin/python");
        make(top.path(), &["conda/bin/python"]);
        let conda = |name: &str| (name == "CONDA_PREFIX").then(|| top.path().join("conda").into());
        assert_eq!(found(&conda).unwrap(), "conda/bin/python");
        make(&root, &["my-env/pyvenv.cfg", "my-env/bin/python"]);
        assert_eq!(found(&conda).unwrap(), "shop/my-env/bin/python");
        make(top.path(), &[".venv/bin/python"]);
        assert_eq!(found(&none).unwrap(), ".venv/bin/python");
    }
}
