//! Skill files for clients: how a model has one of the built-in teams do something, with the tools of our server.

use crate::clients::{folder, home};
use crate::exit::Failure;
use std::path::PathBuf;

/// Clients that read skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Reader {
    Claude,
    Codex,
}

/// One skill: a team, and when to call for it.
pub struct Skill {
    team: &'static str,
    when: &'static str,
    /// What is good to know before it is called.
    hint: &'static str,
}

pub const ALL: [Skill; 3] = [
    Skill {
        team: "testing",
        when: "Use when tests are to be written, extended or repaired, or when coverage is to be raised.",
        hint: "Say in the request which files or modules are meant. Pipelines: targeted, standard, comprehensive; the \
               right one is chosen from the size of the change.",
    },
    Skill {
        team: "lifecycle",
        when: "Use when something larger is to be specified, designed or built from a request, with reviews in between.",
        hint: "Pipelines: spec-only, impl-only, full-lifecycle; the right one is chosen from the words of the request. \
               `switches: [\"no-supervision\"]` leaves out the checkpoints.",
    },
    Skill {
        team: "planex",
        when: "Use when issues are to be planned and then carried out, each plan before its execution.",
        hint: "Name the issue ids in the request. Plans run first, side by side; each execution follows its plan.",
    },
];

impl Reader {
    /// Where this user's skills are.
    pub fn folder(self) -> Result<PathBuf, Failure> {
        let (variable, usual) = match self {
            Self::Claude => ("CLAUDE_CONFIG_DIR", ".claude"),
            Self::Codex => ("CODEX_HOME", ".codex"),
        };
        let settings = match folder(variable) {
            Some(folder) => folder,
            None => home()?.join(usual),
        };
        Ok(settings.join("skills"))
    }
}

impl Skill {
    /// The file, below the folder of skills.
    pub fn file(&self) -> PathBuf {
        PathBuf::from(self.name()).join("SKILL.md")
    }

    fn name(&self) -> String {
        format!("wavecrew-{}", self.team)
    }

    pub fn text(&self) -> String {
        include_str!("skill.md")
            .replace("{name}", &self.name())
            .replace("{team}", self.team)
            .replace("{when}", self.when)
            .replace("{hint}", self.hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavecrew_core::team::Team;

    #[test]
    fn skills_are_of_teams_that_are_there() {
        for skill in ALL {
            assert!(Team::builtin(skill.team).is_some(), "{}", skill.team);
            let text = skill.text();
            let head = format!("---\nname: wavecrew-{}\ndescription: ", skill.team);
            assert!(text.starts_with(&head), "{text}");
            assert!(!text.contains("{team}") && text.len() < 2000, "{text}");
        }
    }
}
