//! The settings of the sandbox: from `wavecrew.toml`, from `--allow-write`, and from `WAVECREW_ALLOW_WRITE`.

use crate::config::Config;
use crate::exit::Failure;
use std::path::{Path, PathBuf};
use wavecrew_run::sandbox::{SandboxSettings, summary};

/// Further places that workers may change, separated by `:`.
const ALLOW_WRITE: &str = "WAVECREW_ALLOW_WRITE";

/// The settings with absolute paths. A place that does not exist is refused: a rule for it would have no effect.
pub fn sandbox_settings(
    config: &Config,
    allow_write: &[PathBuf],
    project: &Path,
) -> Result<SandboxSettings, Failure> {
    let mut settings = config.sandbox.clone();
    let variable = std::env::var_os(ALLOW_WRITE).unwrap_or_default();
    let given = std::env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty());
    settings.write.extend(allow_write.iter().cloned());
    settings.write.extend(given);
    for places in [&mut settings.write, &mut settings.read, &mut settings.deny] {
        for place in places {
            *place = absolute(project, place)?;
        }
    }
    Ok(settings)
}

/// What the run is going to enforce, in one line.
pub fn sandbox_summary(config: &Config) -> String {
    summary(config.sandbox.mode, config.sandbox.support())
}

fn absolute(project: &Path, place: &Path) -> Result<PathBuf, Failure> {
    let path = match (place.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => project.join(place),
    };
    path.canonicalize().map_err(|error| {
        Failure::with_help(
            format!("the sandbox cannot allow {}: {error}", path.display()),
            "create it first, or correct --allow-write or [sandbox] in wavecrew.toml",
        )
    })
}
