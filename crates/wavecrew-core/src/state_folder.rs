//! The user's folder for state that runs share: rate limits, sealed facts, links of the browser.

use std::ffi::OsString;
use std::path::PathBuf;

/// Names the folder, in place of the user's default one.
pub const STATE_VARIABLE: &str = "WAVECREW_STATE_DIR";

/// The folder that a variable names; an empty value counts as none.
pub fn set_folder(variable: impl Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    variable(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The folder, by the values of environment variables; `None` without a home.
pub fn state_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| set_folder(&variable, name);
    set(STATE_VARIABLE)
        .or_else(|| Some(set("XDG_STATE_HOME")?.join("wavecrew")))
        .or_else(|| Some(set("HOME")?.join(".local/state/wavecrew")))
}
