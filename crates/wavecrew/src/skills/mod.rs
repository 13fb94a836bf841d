//! Skill files for clients: they explain to a model how to use a built-in team with the tools of our server.

use crate::clients::{folder, home};
use crate::exit::Failure;
use std::path::PathBuf;

/// Clients that read skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Reader {
    Claude,
    Codex,
}

/// One skill: a team, and when to use it.
pub struct Skill {
    team: &'static str,
    when: &'static str,
    /// Hints for its use.
    hint: &'static str,
}

pub const ALL: [Skill; 3] = [
    Skill {
        team: "testing",
        when: "Use to write, extend or repair tests, or to raise coverage.",
        hint: "Name the files or modules in the request. Pipelines: targeted, standard, comprehensive; \
               by default the size of the change decides.",
    },
    Skill {
        team: "lifecycle",
        when: "Use to specify, design or build something larger from a request, with reviews in between.",
        hint: "Pipelines: spec-only, impl-only, full-lifecycle; by default the words of the request decide. \
               `switches: [\"no-supervision\"]` leaves out the checkpoints.",
    },
    Skill {
        team: "planex",
        when: "Use to plan issues and then implement them, each after its plan.",
        hint: "Name the issue ids in the request. All plans run first, in parallel; each implementation follows its plan.",
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
