//! Which workers run where: one default, and rules by role or agent. The first rule that fits decides.

/// Where a worker may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Where {
    /// On the machine of the run.
    #[default]
    Local,
    /// On another host.
    Remote,
    /// On another host if one has a free slot, else here.
    Any,
}

impl Where {
    pub const NAMES: [&str; 3] = ["local", "remote", "any"];

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "local" => Some(Self::Local),
            "remote" => Some(Self::Remote),
            "any" => Some(Self::Any),
            _ => None,
        }
    }
}

/// One `[[place]]` of the settings. A missing key fits every worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceRule {
    pub role: Option<String>,
    pub agent: Option<String>,
    pub place: Where,
    /// The label that the host must have.
    pub label: Option<String>,
}

/// The rules of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceRules {
    pub default: Where,
    pub rules: Vec<PlaceRule>,
}

/// Where one worker runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    pub place: Where,
    pub label: Option<String>,
}

impl PlaceRules {
    pub fn decide(&self, role: &str, agent: &str) -> Placement {
        let fits = |wanted: &Option<String>, given: &str| wanted.as_deref().is_none_or(|name| name == given);
        let found = self
            .rules
            .iter()
            .find(|known| fits(&known.role, role) && fits(&known.agent, agent));
        match found {
            Some(found) => Placement {
                place: found.place,
                label: found.label.clone(),
            },
            None => Placement {
                place: self.default,
                label: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rule = |role: Option<&str>, agent: Option<&str>, place, label: Option<&str>| PlaceRule {
            role: role.map(str::to_owned),
            agent: agent.map(str::to_owned),
            place,
            label: label.map(str::to_owned),
        };
        let rules = PlaceRules {
            default: Where::Any,
            rules: vec![
                rule(Some("planner"), None, Where::Local, None),
                rule(Some("tester"), Some("codex"), Where::Remote, Some("gpu")),
                rule(None, Some("codex"), Where::Remote, None),
            ],
        };
        let decide = |role, agent| {
            let Placement { place, label } = rules.decide(role, agent);
            (place, label.unwrap_or_default())
        };
        assert_eq!(decide("planner", "codex"), (Where::Local, String::new()));
        assert_eq!(decide("tester", "codex"), (Where::Remote, "gpu".to_owned()));
        assert_eq!(decide("writer", "codex"), (Where::Remote, String::new()));
        assert_eq!(decide("writer", "claude"), (Where::Any, String::new()));
    }
}
