//! Signs of pytest: its settings, or what makes a folder a Python project at all.

use std::fs;
use std::path::Path;

use super::{Certainty, Framework, Project};

pub fn find(folders: &[&Path]) -> Option<Project> {
    folders.iter().find_map(|folder| {
        let (evidence, certainty) = sign(folder)?;
        Some(Project {
            root: (*folder).to_owned(),
            framework: Framework::Pytest,
            evidence: evidence.to_owned(),
            certainty,
        })
    })
}

fn sign(folder: &Path) -> Option<(&'static str, Certainty)> {
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let has = |name: &str| folder.join(name).is_file();
    if has("pytest.ini") || has(".pytest.ini") || has("pytest.toml") {
        return Some(("pytest.ini", Certainty::Found));
    }
    if has("pyproject.toml") {
        let certain = text("pyproject.toml").contains("pytest");
        return Some((
            "pyproject.toml",
            if certain {
                Certainty::Found
            } else {
                Certainty::Assumed
            },
        ));
    }
    if text("tox.ini").contains("[pytest]") {
        return Some(("tox.ini", Certainty::Found));
    }
    if has("setup.cfg") && text("setup.cfg").contains("[tool:pytest]") {
        return Some(("setup.cfg", Certainty::Found));
    }
    ["setup.py", "setup.cfg", "requirements.txt"]
        .into_iter()
        .find(|name| has(name))
        .map(|name| {
            (
                name,
                if text(name).contains("pytest") {
                    Certainty::Found
                } else {
                    Certainty::Assumed
                },
            )
        })
}
