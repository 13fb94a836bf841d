//! Where the test frameworks are that tests run.

use std::path::PathBuf;

/// The folder that `scripts/install-frameworks.sh` filled; `None` when tests with frameworks are skipped.
pub fn installed() -> Option<PathBuf> {
    if std::env::var_os("WAVECREW_SKIP_FRAMEWORKS").is_some_and(|value| value == "1") {
        eprintln!("skipped: WAVECREW_SKIP_FRAMEWORKS=1");
        return None;
    }
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let folder = std::env::var_os("WAVECREW_FRAMEWORKS_DIR")
        .map_or_else(|| home().join(".cache/wavecrew/frameworks"), PathBuf::from)
        .join("current");
    assert!(
        folder.join("complete").exists(),
        "no frameworks in {}: run scripts/install-frameworks.sh, or set WAVECREW_SKIP_FRAMEWORKS=1 to skip these tests",
        folder.display()
    );
    Some(folder)
}
