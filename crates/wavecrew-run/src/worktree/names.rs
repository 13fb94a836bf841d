//! Names of branches and refs. Git cannot have a branch `a` and a branch `a/b` at once, so each of ours has a second
//! name for when the first is taken in that way.

use super::git::{Git, GitError};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What of a session is merged and not in the person's checkout. No branch, so that it is in no other's way.
pub(super) fn session_ref(session: &str) -> String {
    format!("refs/wavecrew/{session}")
}

/// The branch for the work of a task.
pub(super) fn task_branch(git: &Git, session: &str, name: &str) -> Result<String, GitError> {
    let name = ref_part(name);
    Ok(
        if git.commit(&format!("refs/heads/wavecrew/{session}"))?.is_some() {
            format!("wavecrew-tasks/{session}/{name}")
        } else {
            format!("wavecrew/{session}/{name}")
        },
    )
}

/// The branch where a person finds what is merged.
pub(super) fn session_branch(git: &Git, session: &str) -> Result<String, GitError> {
    let second = format!("wavecrew-merged/{session}");
    let below = format!("refs/heads/wavecrew/{session}/");
    let taken = !git.run(&["for-each-ref", "--count=1", &below])?.is_empty();
    Ok(
        if taken || git.commit(&format!("refs/heads/{second}"))?.is_some() {
            second
        } else {
            format!("wavecrew/{session}")
        },
    )
}

/// A task id as part of a ref: most are as they are, the few that git does not take are told apart by a number.
pub fn ref_part(id: &str) -> String {
    if !id.contains("..") && !id.ends_with('.') && !id.to_ascii_lowercase().ends_with(".lock") {
        return id.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    format!("{}-{:08x}", id.replace('.', "_"), hasher.finish() >> 32)
}

#[cfg(test)]
mod tests {
    use super::ref_part;

    #[test]
    fn ids_that_git_takes_stay_and_others_become_such() {
        for id in ["A-1", "a.b", "1.0", "x_y"] {
            assert_eq!(ref_part(id), id);
        }
        for id in ["a..b", "a.", "a.lock"] {
            let part = ref_part(id);
            assert!(part.starts_with("a_") && !part.contains('.'), "{part}");
        }
        assert_ne!(ref_part("a..b"), ref_part("a._b."));
    }
}
