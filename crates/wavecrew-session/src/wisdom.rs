//! The four wisdom files: what a team learns across tasks, as Markdown bullets with the name of the author.

use crate::error::{IoContext, SessionError};
use crate::lines;
use crate::worker_file::{WorkerFile, not_a_file, read_end};
use std::path::{Path, PathBuf};
use wavecrew_core::sanitise::sanitise;

/// Bytes of a file that are read, from its end.
const MAX_READ: u64 = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WisdomFile {
    Learnings,
    Decisions,
    Conventions,
    Issues,
}

impl WisdomFile {
    pub const ALL: [Self; 4] = [Self::Learnings, Self::Decisions, Self::Conventions, Self::Issues];

    /// The file's stem, as workers name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Learnings => "learnings",
            Self::Decisions => "decisions",
            Self::Conventions => "conventions",
            Self::Issues => "issues",
        }
    }

    /// By its stem, with or without `.md`.
    pub fn parse(text: &str) -> Option<Self> {
        let stem = text.strip_suffix(".md").unwrap_or(text);
        Self::ALL.into_iter().find(|file| file.name() == stem)
    }

    /// What a new file starts with.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Learnings => "# Learnings\n",
            Self::Decisions => "# Decisions\n",
            Self::Conventions => "# Conventions\n",
            Self::Issues => "# Issues\n",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Wisdom {
    folder: PathBuf,
}

impl Wisdom {
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    pub fn path(&self, file: WisdomFile) -> PathBuf {
        self.folder.join(file.name()).with_extension("md")
    }

    /// Adds one bullet. Line ends inside `text` become spaces, so that a bullet stays a bullet.
    pub fn append(&self, file: WisdomFile, who: &str, text: &str) -> Result<(), SessionError> {
        let (text, who) = (sanitise(text.as_bytes()), sanitise(who.as_bytes()));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let who = who.split_whitespace().collect::<Vec<_>>().join(" ");
        lines::append(&self.path(file), format!("\n- [{who}] {text}").into_bytes())
    }

    pub fn read(&self, file: WisdomFile) -> Result<String, SessionError> {
        let path: &Path = &self.path(file);
        let bytes = match read_end(path, MAX_READ).context("read", path)? {
            WorkerFile::Regular((bytes, _)) => bytes,
            WorkerFile::Nothing | WorkerFile::Foreign => return Err(not_a_file(path)),
        };
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bullets_say_who_and_stay_on_their_line() {
        let dir = tempfile::tempdir().unwrap();
        let wisdom = Wisdom::at(dir.path());
        std::fs::write(
            wisdom.path(WisdomFile::Issues),
            "# Issues\n- by hand, without an end",
        )
        .unwrap();
        wisdom
            .append(WisdomFile::Issues, "tester", "two\n\u{1b}[31m# lines\u{202e}")
            .unwrap();
        wisdom.append(WisdomFile::Issues, "writer", "one").unwrap();
        assert_eq!(
            wisdom.read(WisdomFile::Issues).unwrap(),
            "# Issues\n- by hand, without an end\n- [tester] two # lines\n- [writer] one\n"
        );
    }

    #[test]
    fn files_are_known_by_name() {
        assert_eq!(WisdomFile::parse("decisions.md"), Some(WisdomFile::Decisions));
        assert_eq!(WisdomFile::parse("learnings"), Some(WisdomFile::Learnings));
        assert_eq!(WisdomFile::parse("../learnings"), None);
    }
}
