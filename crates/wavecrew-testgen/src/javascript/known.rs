//! Tests of the project that are there already, those of earlier rounds among them: the search runs them, and looks for what
//! they do not reach or notice. Reads only; copies of what lies elsewhere are laid by whoever runs it.

use std::path::{Path, PathBuf};

use super::helper;
use super::module::{Source, import_path, quoted};
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

pub fn known(request: &Request, project: &Project, source: &Source, helper: &Path) -> Vec<Known> {
    let same = |a: &Path, b: &Path| {
        a.canonicalize()
            .ok()
            .zip(b.canonicalize().ok())
            .is_some_and(|(a, b)| a == b)
    };
    let inside = same(&request.layer_folder, &source.laid);
    // Where each is run, whether it is there already, and its text.
    let earlier = source.earlier(&request.layer_folder).into_iter();
    let earlier = earlier.map(|(path, text)| {
        (
            source.laid.join(path.file_name().unwrap_or_default()),
            inside,
            text,
        )
    });
    let ours = |path: &Path| {
        inside && path.parent().is_some_and(|folder| same(folder, &source.laid)) && source.is_earlier(path)
    };
    let others = project
        .tests_of(&source.named)
        .filter(|(path, text)| !ours(path) && !APART.iter().any(|word| text.contains(word)))
        .map(|(path, text)| (path.to_owned(), true, text));
    let words = helper::home(helper).join("jest_globals.cjs");
    let one = |(number, (path, there, text)): (usize, (PathBuf, bool, String))| {
        let own_words = with_own_words(&text, path.parent().unwrap_or(Path::new("")), &words);
        if there && own_words.is_none() {
            return Known {
                import_path: whole_path(&source.laid, &path),
                laid: None,
            };
        }
        let name = source.known_name(number);
        Known {
            import_path: format!("./{name}"),
            laid: Some((name, own_words.unwrap_or(text))),
        }
    };
    earlier.chain(others).take(MOST).enumerate().map(one).collect()
}

/// A test that imports the framework's words, with others in their place: jest knows no other way to hear them. It stands
/// elsewhere, so that what it imports by place is named in full.
fn with_own_words(text: &str, folder: &Path, words: &Path) -> Option<String> {
    let imported = ["'@jest/globals'", "\"@jest/globals\""];
    if !imported.iter().any(|word| text.contains(word)) {
        return None;
    }
    let mut text = text.to_owned();
    for word in imported {
        text = text.replace(word, &quoted(&words.to_string_lossy()));
    }
    for quote in ['\'', '"'] {
        for way in ["./", "../"] {
            for before in ["from ", "import ", "import(", "require("] {
                let full = format!("{before}{quote}{}/{way}", folder.display());
                text = text.replace(&format!("{before}{quote}{way}"), &full);
            }
        }
    }
    Some(format!("// @ts-nocheck\n{text}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_jest_that_are_imported_are_ours_in_a_copy() {
        let text = "import { it } from '@jest/globals';\nimport { ms } from './index';\nconst x = require(\"../y\");\nit('./z');\n";
        assert_eq!(
            with_own_words(text, Path::new("/p/src"), Path::new("/h/jest_globals.cjs")).as_deref(),
            Some(
                "// @ts-nocheck\nimport { it } from \"/h/jest_globals.cjs\";\nimport { ms } from '/p/src/./index';\n\
                 const x = require(\"/p/src/../y\");\nit('./z');\n"
            )
        );
        assert_eq!(with_own_words("it('a')", Path::new("/p"), Path::new("/h")), None);
    }
}
