//! Makes a cassette portable: folders, the session's name and the worker's token are stored as placeholders, which a
//! replay fills in.

use std::borrow::Cow;
use std::path::Path;

const SESSION: &str = "<wavecrew:session-folder>";
const PROJECT: &str = "<wavecrew:project-folder>";
const ID: &str = "<wavecrew:session>";
const TOKEN: &str = "<wavecrew:token>";
/// Shorter values, such as the folder `/`, occur in too many other texts.
const MIN_LENGTH: usize = 4;

/// The placeholders and their values here.
#[derive(Clone, Debug)]
pub(super) struct Placeholders([(&'static str, String); 4]);

impl Placeholders {
    /// `id` is the session's name.
    pub fn new(session: &Path, project: &Path, id: &str, token: &str) -> Self {
        let folder = |path: &Path| path.to_string_lossy().into_owned();
        // The longest first: the session is inside the project.
        Self([
            (SESSION, folder(session)),
            (PROJECT, folder(project)),
            (ID, id.to_owned()),
            (TOKEN, token.to_owned()),
        ])
    }

    /// Replaces values by placeholders.
    pub fn insert(&self, text: &str) -> String {
        let long_enough = self.0.iter().filter(|(_, value)| value.len() >= MIN_LENGTH);
        replace(
            text,
            long_enough.map(|(placeholder, value)| (value.as_str(), *placeholder)),
        )
    }

    /// Replaces placeholders by the values here.
    pub fn fill(&self, text: &str) -> String {
        replace(
            text,
            self.0
                .iter()
                .map(|(placeholder, value)| (*placeholder, value.as_str())),
        )
    }
}

fn replace<'a>(text: &str, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = Cow::Borrowed(text);
    for (from, to) in pairs {
        if text.contains(from) {
            text = Cow::Owned(text.replace(from, to));
        }
    }
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_portable() {
        let old = Placeholders::new(Path::new("/a/pro/.w/run-1"), Path::new("/a/pro"), "run-1", "0123");
        let new = Placeholders::new(Path::new("/b/.w/run-2"), Path::new("/b"), "run-2", "4567");
        let text = "see /a/pro/x.rs and /a/pro/.w/run-1/plan.md of run-1, not 0123";
        let marked = old.insert(text);
        assert!(!marked.contains("/a/pro") && !marked.contains("0123"), "{marked}");
        assert_eq!(old.fill(&marked), text);
        let moved = "see /b/x.rs and /b/.w/run-2/plan.md of run-2, not 4567";
        assert_eq!(new.fill(&marked), moved);
        // The folder is too short to be distinguished from other words.
        assert!(
            new.insert(moved)
                .starts_with("see /b/x.rs and <wavecrew:session-folder>/plan.md")
        );
    }
}
