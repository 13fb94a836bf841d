//! Tests of the project that are there already, those of earlier rounds among them: the search runs them, and looks for what
//! they do not reach or notice. Reads only; copies of what lies elsewhere are laid by whoever runs it.

use std::path::Path;

use super::module::{Source, import_path};
use super::project::Project;
use crate::Request;

/// Files beyond this number are not looked at.
const MOST: usize = 12;
/// Tests that change their surroundings, or need them prepared, say nothing when they are run by themselves.
const APART: [&str; 9] = [
    ".mock(",
    ".doMock(",
    "spyOn(",
    "useFakeTimers",
    "stubGlobal",
    "resetModules",
    "beforeAll(",
    "afterAll(",
    "process.exit",
];

/// One file with tests.
#[derive(Debug)]
pub struct Known {
    /// As a test in the folder that ours are laid into imports it.
    pub import_path: String,
    /// Its name and text, where it has to be laid there first.
    pub laid: Option<(String, String)>,
}

pub fn known(request: &Request, project: &Project, source: &Source) -> Vec<Known> {
    let mut found = Vec::new();
    let same = |a: &Path, b: &Path| {
        a.canonicalize()
            .ok()
            .zip(b.canonicalize().ok())
            .is_some_and(|(a, b)| a == b)
    };
    let inside = same(&request.layer_folder, &source.laid);
    for (number, (path, text)) in source.earlier(&request.layer_folder).into_iter().enumerate() {
        let (import_path, laid) = if inside {
            (
                import_path(
                    &source.laid,
                    &source.laid.join(path.file_name().unwrap_or_default()),
                ),
                None,
            )
        } else {
            let name = source.known_name(number);
            (format!("./{name}"), Some((name, text)))
        };
        found.push(Known { import_path, laid });
    }
    for (path, text) in project.tests_of(&source.named) {
        let ours = inside
            && path.parent().is_some_and(|folder| same(folder, &source.laid))
            && source.is_earlier(path);
        if !ours && !APART.iter().any(|word| text.contains(word)) {
            found.push(Known {
                import_path: whole_path(&source.laid, path),
                laid: None,
            });
        }
    }
    found.truncate(MOST);
    found
}

/// Tests are imported by their whole name.
fn whole_path(from: &Path, file: &Path) -> String {
    let ending = file.extension().unwrap_or_default().to_string_lossy();
    let path = import_path(from, file);
    match path.strip_suffix(&format!(".{ending}")) {
        Some(_) => path,
        None => format!("{path}.{ending}"),
    }
}
