//! Makes a recording fit for another place: folders, the session's name and the worker's token are written as marks,
//! and the marks are filled in where it is played.

use std::borrow::Cow;
use std::path::Path;

const SESSION: &str = "<wavecrew:session-folder>";
const PROJECT: &str = "<wavecrew:project-folder>";
const ID: &str = "<wavecrew:session>";
const TOKEN: &str = "<wavecrew:token>";
/// Shorter folders, such as `/`, are part of too much else.
const SHORTEST: usize = 4;

/// Marks and what they stand for here.
#[derive(Clone, Debug)]
pub(super) struct Place([(&'static str, String); 4]);

impl Place {
    /// `id` is the session's name.
    pub fn new(session: &Path, project: &Path, id: &str, token: &str) -> Self {
        let folder = |path: &Path| path.to_string_lossy().into_owned();
        // The longest first: the session lies inside the project.
        Self([
            (SESSION, folder(session)),
            (PROJECT, folder(project)),
            (ID, id.to_owned()),
            (TOKEN, token.to_owned()),
        ])
    }

    /// The text with marks.
    pub fn mark(&self, text: &str) -> String {
        let worth_it = self.0.iter().filter(|(_, here)| here.len() >= SHORTEST);
        replace(text, worth_it.map(|(mark, here)| (here.as_str(), *mark)))
    }

    /// The text as it reads here.
    pub fn fill(&self, text: &str) -> String {
        replace(text, self.0.iter().map(|(mark, here)| (*mark, here.as_str())))
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
    fn a_text_moves_from_place_to_place() {
        let old = Place::new(Path::new("/a/pro/.w/run-1"), Path::new("/a/pro"), "run-1", "0123");
        let new = Place::new(Path::new("/b/.w/run-2"), Path::new("/b"), "run-2", "4567");
        let text = "see /a/pro/x.rs and /a/pro/.w/run-1/plan.md of run-1, not 0123";
        let marked = old.mark(text);
        assert!(!marked.contains("/a/pro") && !marked.contains("0123"), "{marked}");
        assert_eq!(old.fill(&marked), text);
        let moved = "see /b/x.rs and /b/.w/run-2/plan.md of run-2, not 4567";
        assert_eq!(new.fill(&marked), moved);
        // Too short a folder to be told from other words.
        assert!(
            new.mark(moved)
                .starts_with("see /b/x.rs and <wavecrew:session-folder>/plan.md")
        );
    }
}
