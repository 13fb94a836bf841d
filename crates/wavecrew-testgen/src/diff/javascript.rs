//! JavaScript and TypeScript.

use std::path::Path;

use super::{CompareProgress, ComparedModule, ModuleTime, Versions};
use crate::GenerateError;

#[expect(clippy::unnecessary_wraps, reason = "the same signature for every language")]
pub fn compare(
    _versions: &Versions,
    file: &Path,
    _time: ModuleTime,
    _on_progress: &mut dyn FnMut(CompareProgress<'_>) -> bool,
) -> Result<ComparedModule, GenerateError> {
    Ok(ComparedModule::dropped(
        file,
        "JavaScript and TypeScript cannot be compared yet".to_owned(),
    ))
}
