//! The built-in teams, in the format that users write.

use super::Team;

pub(super) const NAMES: [&str; 4] = ["testing", "lifecycle", "planex", "generic"];

pub(super) fn text(name: &str) -> Option<&'static str> {
    match name {
        "testing" => Some(include_str!("../../teams/testing.toml")),
        "lifecycle" => Some(include_str!("../../teams/lifecycle.toml")),
        "planex" => Some(include_str!("../../teams/planex.toml")),
        "generic" => Some(include_str!("../../teams/generic.toml")),
        _ => None,
    }
}

pub(super) fn team(name: &str) -> Option<Team> {
    let parsed = Team::parse(&format!("{name}.toml"), text(name)?);
    Some(parsed.expect("the tests parse every built-in team"))
}
