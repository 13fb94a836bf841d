//! The built-in teams, in the format that users write.

use super::Team;

const TEAMS: [(&str, &str); 4] = [
    ("testing", include_str!("../../teams/testing.toml")),
    ("lifecycle", include_str!("../../teams/lifecycle.toml")),
    ("planex", include_str!("../../teams/planex.toml")),
    ("generic", include_str!("../../teams/generic.toml")),
];

pub(super) const NAMES: [&str; 4] = [TEAMS[0].0, TEAMS[1].0, TEAMS[2].0, TEAMS[3].0];

pub(super) fn text(name: &str) -> Option<&'static str> {
    let (_, text) = TEAMS.iter().find(|(known, _)| *known == name)?;
    Some(text)
}

pub(super) fn team(name: &str) -> Option<Team> {
    let parsed = Team::parse(&format!("{name}.toml"), text(name)?);
    Some(parsed.expect("the tests parse every built-in team"))
}
