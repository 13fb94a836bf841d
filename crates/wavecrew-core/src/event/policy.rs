//! Which policy made a decision. The journal holds it as text.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Policy {
    /// A generator-critic loop, by the value of its `per` column, or by its critic.
    Loop {
        line: String,
    },
    /// A checkpoint, by its task.
    Checkpoint {
        task: String,
    },
    Gate {
        name: String,
        task: String,
    },
    /// The result of this task replaces rows.
    Expansion {
        task: String,
    },
    /// Text of another version.
    Other(String),
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop { line } => write!(f, "loop {line}"),
            Self::Checkpoint { task } => write!(f, "checkpoint {task}"),
            Self::Gate { name, task } => write!(f, "gate {name} of {task}"),
            Self::Expansion { task } => write!(f, "expansion of {task}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl From<Policy> for String {
    fn from(policy: Policy) -> Self {
        policy.to_string()
    }
}

impl From<String> for Policy {
    fn from(text: String) -> Self {
        if let Some(line) = text.strip_prefix("loop ") {
            let line = line.to_owned();
            Self::Loop { line }
        } else if let Some(task) = text.strip_prefix("checkpoint ") {
            let task = task.to_owned();
            Self::Checkpoint { task }
        } else if let Some(task) = text.strip_prefix("expansion of ") {
            let task = task.to_owned();
            Self::Expansion { task }
        } else if let Some((name, task)) = text
            .strip_prefix("gate ")
            // Ids have no spaces; names may.
            .and_then(|rest| rest.rsplit_once(" of "))
        {
            let (name, task) = (name.to_owned(), task.to_owned());
            Self::Gate { name, task }
        } else {
            Self::Other(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_in_the_journal_is_the_same_when_read_and_written() {
        let text = |text: &str| text.to_owned();
        for (written, policy) in [
            ("loop L1", Policy::Loop { line: text("L1") }),
            (
                "checkpoint CHECKPOINT-001",
                Policy::Checkpoint {
                    task: text("CHECKPOINT-001"),
                },
            ),
            (
                "gate end of phase of QUALITY-001",
                Policy::Gate {
                    name: text("end of phase"),
                    task: text("QUALITY-001"),
                },
            ),
            (
                "expansion of PLAN-001",
                Policy::Expansion {
                    task: text("PLAN-001"),
                },
            ),
            ("something new", Policy::Other(text("something new"))),
        ] {
            assert_eq!(Policy::from(written.to_owned()), policy);
            assert_eq!(policy.to_string(), written);
        }
    }
}
