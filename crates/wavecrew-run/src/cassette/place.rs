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
pub(super) struct Place(Vec<(&'static str, String)>);

impl Place {
    /// `id` is the session's name.
    pub fn new(session: &Path, project: &Path, id: &str, token: &str) -> Self {
        let folder = |path: &Path| path.to_string_lossy().into_owned();
        // The longest first: the session lies inside the project.
        let marks = [
            (SESSION, folder(session)),
            (PROJECT, folder(project)),
            (ID, id.to_owned()),
            (TOKEN, token.to_owned()),
        ];
        Self(
            marks
                .into_iter()
                .filter(|(_, here)| here.len() >= SHORTEST)
                .collect(),
        )
    }

    /// The text with marks.
    pub fn mark(&self, text: &str) -> String {
        self.each(text, |(mark, here)| (here, mark))
    }

    /// The text as it reads here.
    pub fn fill(&self, text: &str) -> String {
        self.each(text, |(mark, here)| (mark, here))
    }

    fn each<'a>(&'a self, text: &str, way: impl Fn(&'a (&'static str, String)) -> (&'a str, &'a str)) -> String {
        let mut text = Cow::Borrowed(text);
        for pair in &self.0 {
            let (from, to) = way(pair);
            if text.contains(from) {
                text = Cow::Owned(text.replace(from, to));
            }
        }
        text.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_moves_from_place_to_place() {
        let old = Place::new(Path::new("/a/pro/.w/s-1"), Path::new("/a/pro"), "s-1", "0123");
        let new = Place::new(Path::new("/b/.w/s-2"), Path::new("/b"), "s-2", "4567");
        let text = "see /a/pro/x.rs and /a/pro/.w/s-1/plan.md of s-1, not 0123";
        let marked = old.mark(text);
        assert!(!marked.contains("/a/pro") && !marked.contains("0123"), "{marked}");
        assert_eq!(old.fill(&marked), text);
        // `/b` is too short to be looked for, so what was marked as a project stays a mark nobody fills.
        assert!(new.fill(&marked).contains("/b/.w/s-2/plan.md of s-2, not 4567"));
    }
}
