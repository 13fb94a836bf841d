//! The commit that results are built on.

use std::path::Path;
use wavecrew_core::view::short_commit;
use wavecrew_process::{git_bytes, git_text};

/// The commit that is checked out, if the project is a git repository with one.
pub fn head(project: &Path) -> Option<String> {
    git_text(project, &["rev-parse", "--verify", "--quiet", "HEAD"]).ok()?
}

/// Why results made on `base` no longer stand: its commit is not an ancestor of the checked-out one. Commits
/// on top of it, by workers or by a person, do not matter.
pub fn why_base_moved(project: &Path, base: Option<&str>) -> Option<String> {
    let (base, now) = (base?, head(project)?);
    if base == now {
        return None;
    }
    let below = git_bytes(project, &["merge-base", "--is-ancestor", base, &now]).ok()?;
    below.is_none().then(|| {
        format!(
            "it was made on commit {}, which {} does not contain",
            short_commit(base),
            short_commit(&now)
        )
    })
}
