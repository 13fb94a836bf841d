//! Work in a copy of its own: a git worktree on a branch of its own. One without changes goes when the work is done;
//! one with changes is never removed here.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where a worker works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In the project itself.
    #[default]
    None,
    /// In a git worktree of its own.
    Worktree,
}

/// A worktree, from the commit that is checked out in the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    project: PathBuf,
    pub path: PathBuf,
    pub branch: String,
    base: String,
}

/// What was left of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    pub worktree: PathBuf,
    pub branch: String,
    /// How much changed, in git's words.
    pub diff: String,
}

impl Worktree {
    /// Whether worktrees can be made here; the reason if not.
    pub fn possible(project: &Path) -> Result<(), String> {
        let why = |error: String| {
            format!(
                "isolation `worktree` needs a git repository with a commit in the project folder: {error}"
            )
        };
        git(project, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
            .map(drop)
            .map_err(why)
    }

    /// Makes a worktree, or takes up the one that is there.
    pub fn open(project: &Path, path: &Path, branch: &str) -> Result<Self, String> {
        let shown = path.to_string_lossy();
        if path.join(".git").exists() {
            // What the branch was made from is where it leaves the commits of the project.
            let base = git(path, &["merge-base", "HEAD", &head(project)?])?;
            return Ok(Self::new(project, path, branch, base));
        }
        let base = head(project)?;
        // A folder that was removed by hand is forgotten, so that its branch can be used again.
        git(project, &["worktree", "prune"])?;
        let known = git(
            project,
            &[
                "rev-parse",
                "--verify",
                "--quiet",
                &format!("refs/heads/{branch}"),
            ],
        );
        match known {
            Ok(_) => git(project, &["worktree", "add", "--quiet", &shown, branch])?,
            Err(_) => git(
                project,
                &["worktree", "add", "--quiet", "-b", branch, &shown, &base],
            )?,
        };
        let base = git(path, &["merge-base", "HEAD", &base])?;
        Ok(Self::new(project, path, branch, base))
    }

    fn new(project: &Path, path: &Path, branch: &str, base: String) -> Self {
        Self {
            project: project.to_owned(),
            path: path.to_owned(),
            branch: branch.to_owned(),
            base,
        }
    }

    /// The place in the worktree that the project folder is in its repository.
    pub fn folder(&self) -> PathBuf {
        match git(&self.project, &["rev-parse", "--show-prefix"]) {
            Ok(prefix) if !prefix.is_empty() => self.path.join(prefix),
            Ok(_) | Err(_) => self.path.clone(),
        }
    }

    /// Removes the worktree and its branch if nothing was changed in it; says what is kept otherwise.
    pub fn settle(&self) -> Result<Option<Kept>, String> {
        let changes = git(&self.path, &["status", "--porcelain"])?;
        let commits = git(
            &self.path,
            &["rev-list", "--count", &format!("{}..HEAD", self.base)],
        )?;
        if changes.is_empty() && commits == "0" {
            // Not by force: whatever came in between stays.
            git(
                &self.project,
                &["worktree", "remove", &self.path.to_string_lossy()],
            )?;
            git(&self.project, &["branch", "--quiet", "-d", &self.branch])?;
            return Ok(None);
        }
        // So that new files count too; what they hold is not put anywhere.
        git(&self.path, &["add", "--intent-to-add", "--all"])?;
        Ok(Some(Kept {
            worktree: self.path.clone(),
            branch: self.branch.clone(),
            diff: git(&self.path, &["diff", "--shortstat", &self.base])?,
        }))
    }
}

fn head(project: &Path) -> Result<String, String> {
    git(project, &["rev-parse", "HEAD"])
}

fn git(folder: &Path, words: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .current_dir(folder)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("git cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("git {}: {said}", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for words in [
            &["init", "-q", "-b", "main"][..],
            &[
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@t",
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                "x",
            ],
        ] {
            git(folder.path(), words).unwrap();
        }
        folder
    }

    #[test]
    fn a_clean_one_goes_and_a_changed_one_stays() {
        let project = repository();
        let place = |name: &str| project.path().join("trees").join(name);
        let clean = Worktree::open(project.path(), &place("a"), "crew/a").unwrap();
        assert_eq!(clean.settle().unwrap(), None);
        assert!(!place("a").exists());
        assert!(git(project.path(), &["rev-parse", "--verify", "crew/a"]).is_err());

        let changed = Worktree::open(project.path(), &place("b"), "crew/b").unwrap();
        fs::write(place("b").join("new.txt"), "one\n").unwrap();
        let kept = changed.settle().unwrap().unwrap();
        assert_eq!((kept.branch.as_str(), kept.worktree), ("crew/b", place("b")));
        assert!(kept.diff.contains("1 file changed, 1 insertion"), "{}", kept.diff);
        // Taken up again it is the same one, and still not clean.
        let again = Worktree::open(project.path(), &place("b"), "crew/b").unwrap();
        assert_eq!(again, changed);
        assert!(again.settle().unwrap().is_some());
    }

    #[test]
    fn a_commit_is_a_change() {
        let project = repository();
        let path = project.path().join("t");
        let tree = Worktree::open(project.path(), &path, "crew/t").unwrap();
        let commit = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "y",
        ];
        git(&path, &commit).unwrap();
        assert!(tree.settle().unwrap().is_some());
        assert!(path.exists());
    }

    #[test]
    fn without_a_repository_it_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let why = Worktree::possible(folder.path()).unwrap_err();
        assert!(why.contains("needs a git repository"), "{why}");
    }
}
