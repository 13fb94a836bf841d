//! Finds out what a worker was refused. The kernel does not report it, but programs print it: a line with an
//! error text and a path that the confinement does not allow. If a program prints nothing, its refusals are
//! not found; the kernel refuses them all the same.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use wavecrew_core::event::{Refusal, RefusedAccess};
use wavecrew_process::sandbox::Confinement;

/// Error texts of programs, languages and shells. The last two are for hidden places.
const PHRASES: [&str; 7] = [
    "permission denied",
    "read-only file system",
    "operation not permitted",
    "eacces",
    "erofs",
    NOT_FOUND[0],
    NOT_FOUND[1],
];
const NOT_FOUND: [&str; 2] = ["no such file or directory", "enoent"];
/// The maximum number of stored lines, and bytes of each.
const LINES: usize = 64;
const LINE_BYTES: usize = 2000;
/// Refusals that are reported.
const REPORTED: usize = 20;

/// The lines of an output that report refusals.
#[derive(Debug, Default)]
pub(crate) struct RefusalLines {
    /// The incomplete last lines of stdout and stderr.
    open: [Vec<u8>; 2],
    lines: Vec<String>,
}

impl RefusalLines {
    pub fn add(&mut self, is_stderr: bool, chunk: &[u8]) {
        if self.lines.len() >= LINES {
            return;
        }
        let mut open = std::mem::take(&mut self.open[usize::from(is_stderr)]);
        open.extend_from_slice(chunk);
        let whole = open
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        self.search(&open[..whole]);
        let mut rest = open.split_off(whole);
        if rest.len() > 64 * LINE_BYTES {
            self.search(&rest);
            rest.clear();
        }
        self.open[usize::from(is_stderr)] = rest;
    }

    fn search(&mut self, bytes: &[u8]) {
        let lower = bytes.to_ascii_lowercase();
        let found = |phrase: &&str| lower.windows(phrase.len()).any(|part| part == phrase.as_bytes());
        if !PHRASES.iter().any(found) {
            return;
        }
        // Agents print the output of their tools as JSON.
        let text = String::from_utf8_lossy(bytes)
            .replace("\\n", "\n")
            .replace("\\\"", "\"");
        let lines = text
            .lines()
            .filter(|line| PHRASES.iter().any(|phrase| contains(line, phrase)));
        let room = LINES.saturating_sub(self.lines.len());
        let kept = lines.take(room).map(|line| {
            let end = line.floor_char_boundary(LINE_BYTES);
            line[..end].to_owned()
        });
        self.lines.extend(kept.collect::<Vec<_>>());
    }

    /// The places that these lines name and the confinement does not allow. Relative paths start at `folder`.
    pub fn refusals(&mut self, confinement: &Confinement, folder: &Path, home: &Path) -> Vec<Refusal> {
        for stream in 0..self.open.len() {
            let rest = std::mem::take(&mut self.open[stream]);
            self.search(&rest);
        }
        let mut found = BTreeSet::new();
        for line in &self.lines {
            let is_missing = NOT_FOUND.iter().any(|phrase| contains(line, phrase));
            for path in named_paths(line, folder, home) {
                // A file that does not exist was not refused.
                if is_missing && !(confinement.hides(&path) && path.exists()) {
                    continue;
                }
                // What does not exist was to be created.
                let access = if !confinement.may_read(&path) && path.exists() {
                    RefusedAccess::Read
                } else if !confinement.may_write(&path) {
                    RefusedAccess::Write
                } else {
                    continue;
                };
                found.insert((path.to_string_lossy().into_owned(), access));
            }
        }
        let found = found.into_iter().take(REPORTED);
        found.map(|(path, access)| Refusal { path, access }).collect()
    }
}

fn contains(line: &str, phrase: &str) -> bool {
    line.to_ascii_lowercase().contains(phrase)
}

/// The paths that a message names: those in quotes, or else the one next to the error text. The names before
/// it are those of programs and scripts.
fn named_paths(line: &str, folder: &Path, home: &Path) -> Vec<PathBuf> {
    let mut names: Vec<&str> = Vec::new();
    for quote in ['\'', '"', '`'] {
        names.extend(line.split(quote).skip(1).step_by(2));
    }
    names.retain(|name| name.contains('/') || folder.join(name).exists());
    if names.is_empty() {
        let lower = line.to_ascii_lowercase();
        let phrase = PHRASES.iter().filter_map(|phrase| lower.find(phrase)).min();
        let (before, after) = line.split_at(phrase.unwrap_or(line.len()));
        let ends_word = |c: char| c.is_whitespace() || "'\"`,;()[]{}<>=".contains(c);
        let is_path = |word: &&str| word.contains('/');
        let nearest = before.split(ends_word).rfind(is_path);
        let nearest = nearest.or_else(|| after.split(ends_word).find(is_path));
        names.extend(nearest.map(|word| word.trim_end_matches(':')));
    }
    let mut paths: Vec<PathBuf> = names
        .into_iter()
        .filter(|name| !name.is_empty() && name.len() < 1000 && !name.contains("//") && !name.contains(": "))
        .filter_map(|name| resolve(name, folder, home))
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The place that a name refers to, if it exists or could be created.
fn resolve(name: &str, folder: &Path, home: &Path) -> Option<PathBuf> {
    let path = match name.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => folder.join(name),
    };
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    if let Ok(real) = plain.canonicalize() {
        return Some(real);
    }
    let parent = plain.parent()?.canonicalize().ok()?;
    Some(parent.join(plain.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn messages_of_programs_name_what_was_refused() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for name in ["own", "other", "home/.ssh"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let home = root.join("home");
        fs::write(home.join(".ssh/id"), "key").unwrap();
        let confinement = Confinement {
            read: vec![root.join("own"), root.join("other"), "/usr".into(), "/etc".into()],
            write: vec![root.join("own")],
            ..Confinement::default()
        };
        let found = |line: &str| -> Vec<String> {
            let mut lines = RefusalLines::default();
            // In two parts, as pipes may deliver it.
            let (first, second) = line.as_bytes().split_at(line.len() / 2);
            lines.add(true, first);
            lines.add(true, second);
            let refusals = lines.refusals(&confinement, &root.join("own"), &home);
            let shown = refusals.iter().map(|refusal| {
                let path = Path::new(&refusal.path).strip_prefix(&root);
                let path = path.map_or(refusal.path.clone(), |path| path.display().to_string());
                format!("{} {path}", refusal.access.as_str())
            });
            shown.collect()
        };
        let other = root.join("other/file").display().to_string();
        for line in [
            format!("sh: 1: cannot create {other}: Permission denied"),
            format!("rm: cannot remove '{other}': Read-only file system\n"),
            format!("PermissionError: [Errno 13] Permission denied: '{other}'"),
            format!("Error: EACCES: permission denied, open '{other}'"),
            "bash: ../other/file: Permission denied".to_owned(),
            format!(r#"{{"output":"touch: cannot touch '{other}': Permission denied\nnext"}}"#),
        ] {
            assert_eq!(found(&line), ["change other/file"], "{line}");
        }
        assert_eq!(found("cat: ~/.ssh/id: Permission denied"), ["read home/.ssh/id"]);
        let created = found("sh: 1: cannot create ~/new.txt: Permission denied");
        assert_eq!(created, ["change home/new.txt"]);
        // Refused by the system and not by the sandbox, or not refused at all.
        let own = root.join("own/file").display().to_string();
        assert!(found(&format!("cannot create {own}: Permission denied")).is_empty());
        assert!(found(&format!("cannot create {other}: No such file or directory")).is_empty());
    }
}
