//! A team by its name or file: the built-in ones, the project's own, or any file.

use crate::exit::Failure;
use crate::{project, show};
use std::fs;
use std::io;
use std::path::Path;
use wavecrew_core::plan::did_you_mean;
use wavecrew_core::team::Team;

/// Where a project keeps teams of its own.
pub const FOLDER: &str = ".wavecrew/teams";

/// A project's own team comes before a built-in one of the same name.
pub fn find(name: &str) -> Result<Team, Failure> {
    if Path::new(name).extension().is_some_and(|e| e == "toml") {
        return match read(&project::typed(Path::new(name)))? {
            Some(team) => Ok(team),
            None => Err(Failure::input(format!("there is no team file {name}"))),
        };
    }
    let is_plain = !name.is_empty() && !name.contains(['/', '\\']);
    if is_plain && let Some(team) = read(&Path::new(FOLDER).join(format!("{name}.toml")))? {
        return Ok(team);
    }
    Team::builtin(name).ok_or_else(|| unknown(name))
}

/// The project's own version of a session's team, as it is now; `None` where the session's copy is the only one.
pub fn project_team(name: &str) -> Result<Option<Team>, Failure> {
    if name.contains(['/', '\\']) {
        return Ok(None);
    }
    read(&Path::new(FOLDER).join(format!("{name}.toml")))
}

fn read(path: &Path) -> Result<Option<Team>, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Failure::input(format!("{} cannot be read: {e}", path.display()))),
    };
    match Team::parse(&path.display().to_string(), &text) {
        Ok(team) => Ok(Some(team)),
        Err(problems) => {
            show::team_problems(&text, &problems);
            Err(Failure::Refused)
        }
    }
}

fn unknown(name: &str) -> Failure {
    let mut names: Vec<String> = Team::builtin_names().iter().map(|n| (*n).to_owned()).collect();
    names.extend(own_teams());
    let help = did_you_mean(name, names.iter().map(String::as_str)).unwrap_or_else(|| {
        format!(
            "known teams: {}; your own go into {FOLDER}/NAME.toml",
            names.join(", ")
        )
    });
    Failure::with_help(format!("there is no team `{name}`"), help)
}

/// Names of the project's own teams.
pub fn own_teams() -> Vec<String> {
    let Ok(folder) = fs::read_dir(FOLDER) else {
        return Vec::new();
    };
    let paths = folder.flatten().map(|entry| entry.path());
    let files = paths.filter(|path| path.extension().is_some_and(|e| e == "toml"));
    files
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect()
}
