//! Names of branches and refs. Git cannot have the branches `a` and `a/b` at once, so each of ours has a second name in
//! case the first one conflicts.

use super::git::{Git, GitError};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The ref with merged work that is not in the checkout. Not a branch, so that it conflicts with none.
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

/// The branch with the merged work.
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

/// A task id as part of a ref: unchanged, or with a hash if git does not allow it.
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
    fn ids_that_git_does_not_allow_are_changed() {
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
