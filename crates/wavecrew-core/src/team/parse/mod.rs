//! Team text to `Team`. Three passes that each report all they find: TOML syntax, shape (against the JSON Schema
//! derived from the types, so that the format is written once), and meaning (names that must exist, order of
//! thresholds, cycles). A pass runs only when the one before found nothing, so that no mistake is reported twice.

mod extend;
pub(super) mod levels;
mod meaning;
mod shape;
mod source;

use super::{COMMON_COLUMNS, Column, ColumnKind, Team};
use source::Source;
use std::ops::Range;

/// A mistake in a team file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct TeamProblem {
    pub file: String,
    /// From 1.
    pub line: usize,
    /// Bytes of the text that are wrong.
    pub span: Range<usize>,
    pub message: String,
    pub help: Option<String>,
}

pub(super) fn parse(file: &str, text: &str) -> Result<Team, Vec<TeamProblem>> {
    let mut source = Source::read(file, text)?;
    shape::check(&mut source);
    source.finish()?;
    let mut team: Team = match toml::from_str(text) {
        Ok(team) => team,
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            source.problem(span, error.message().to_owned(), None);
            return Err(source.into_problems());
        }
    };
    let written = extend::resolve(&mut team, &mut source);
    meaning::check(&team, &written, &mut source);
    source.finish()?;
    extend::order(&mut team, &written);
    place_columns(&mut team);
    Ok(team)
}

/// Fills in the common columns when a team lists none: inputs after `role`, outputs after `findings`.
fn place_columns(team: &mut Team) {
    if team
        .columns
        .iter()
        .any(|c| COMMON_COLUMNS.contains(&c.name.as_str()))
    {
        return;
    }
    let own = std::mem::take(&mut team.columns);
    let (outputs, inputs): (Vec<Column>, Vec<Column>) =
        own.into_iter().partition(|c| c.kind == ColumnKind::Output);
    let (mut inputs, mut outputs) = (Some(inputs), Some(outputs));
    for name in COMMON_COLUMNS {
        let mut column = Column::common(name);
        column.required |= !team.any_role && matches!(name, "title" | "role" | "exec_mode");
        team.columns.push(column);
        match name {
            "role" => team.columns.extend(inputs.take().into_iter().flatten()),
            "findings" => team.columns.extend(outputs.take().into_iter().flatten()),
            _ => {}
        }
    }
}
