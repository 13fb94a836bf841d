//! Coverage targets of layers: those of the team, those that a person sets, and raising the targets of a
//! finished session.

use std::borrow::Cow;
use std::io;

use wavecrew_core::engine::Ledger;
use wavecrew_core::team::Team;
use wavecrew_session::{SessionDir, SessionError, atomic};

use crate::scope::Scope;

#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("`--target {given}` does not name a layer of this team and a percentage")]
    Invalid { given: String, layers: Vec<String> },
    #[error("the session `{0}` has no targets")]
    NoTargets(String),
    #[error("the session's scope cannot be written: {0}")]
    Scope(#[from] io::Error),
    #[error(transparent)]
    Table(#[from] SessionError),
}

impl TargetError {
    pub fn help(&self) -> String {
        match self {
            Self::Invalid { layers, .. } => format!(
                "write it as {}=85; layers are {}",
                layers.first().map_or("L1", String::as_str),
                layers.join(", ")
            ),
            Self::NoTargets(_) => "only sessions of `wavecrew testing` have targets".to_owned(),
            Self::Scope(_) => "check the space and the permissions of the folder".to_owned(),
            Self::Table(error) => error.help(),
        }
    }
}

/// `L1=85` as a layer of the team and its percentage.
fn parsed(given: &str, team: &Team) -> Option<(String, f64)> {
    let (layer, percent) = given.split_once('=')?;
    let percent: f64 = percent.trim().trim_end_matches('%').parse().ok()?;
    let known = team
        .targets
        .iter()
        .find(|target| target.name.eq_ignore_ascii_case(layer.trim()))?;
    (0.0..=100.0)
        .contains(&percent)
        .then(|| (known.name.clone(), percent))
}

/// Targets as they are given, checked against the layers of a team.
fn given_targets(team: &Team, given: &[String]) -> Result<Vec<(String, f64)>, TargetError> {
    let parse = |given: &String| {
        parsed(given, team).ok_or_else(|| TargetError::Invalid {
            given: given.clone(),
            layers: team.targets.iter().map(|target| target.name.clone()).collect(),
        })
    };
    given.iter().map(parse).collect()
}

/// The targets of the team; given ones replace them.
pub fn targets(team: &Team, given: &[String]) -> Result<Vec<(String, f64)>, TargetError> {
    let own = team
        .targets
        .iter()
        .map(|target| (target.name.clone(), f64::from(target.percent)));
    let mut targets: Vec<(String, f64)> = own.collect();
    for (layer, percent) in given_targets(team, given)? {
        for target in targets.iter_mut().filter(|(name, _)| *name == layer) {
            target.1 = percent;
        }
    }
    Ok(targets)
}

/// Raises the targets of a session's layers: their rows run again, as after an edit of the table.
pub fn raise(dir: &SessionDir, ledger: &Ledger, given: &[String]) -> Result<(), TargetError> {
    let mut scope = Scope::read(dir.path()).map_err(|_| TargetError::NoTargets(dir.id().to_owned()))?;
    let raised = given_targets(&ledger.team, given)?;
    let target = |layer: &str| {
        raised
            .iter()
            .rev()
            .find(|(name, _)| name == layer)
            .map(|(_, p)| *p)
    };
    let plan = ledger.plan();
    let mut bytes = Vec::new();
    plan.render(&mut bytes, |task, column| {
        let raised = (column == "coverage_target")
            .then(|| target(scope.team_layer(plan.cell(task, "layer"))))
            .flatten();
        raised
            .map(|percent| Cow::Owned(percent.to_string()))
            .or_else(|| ledger.cell(task, column))
    })
    .expect("writing to memory");
    for (layer, percent) in &mut scope.targets {
        *percent = target(layer).unwrap_or(*percent);
    }
    scope.write(dir.path())?;
    Ok(atomic::write(&dir.tasks_csv(), &bytes)?)
}
