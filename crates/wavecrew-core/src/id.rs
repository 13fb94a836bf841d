//! Names of things: task indices and ids. Refuses ids that could not be part of a file name.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Position of a task in its plan. Small and copyable; the id is `plan.id(ix)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskIx(pub u32);

impl TaskIx {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why an id is refused: it becomes part of file names on every platform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdProblem {
    Empty,
    TooLong,
    BadCharacter(char),
    BadStart(char),
    DeviceName,
}

impl fmt::Display for IdProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::TooLong => write!(f, "it is longer than {MAX_ID_LEN} characters"),
            Self::BadCharacter(c) => {
                write!(
                    f,
                    "it contains {c:?}; use ASCII letters, digits, `-`, `_` and `.`"
                )
            }
            Self::BadStart(c) => write!(f, "it starts with {c:?}"),
            Self::DeviceName => f.write_str("it is a device name on some systems"),
        }
    }
}

const MAX_ID_LEN: usize = 100;

/// Checks an id against the rules of `tasks.csv`.
pub fn check_task_id(id: &str) -> Result<(), IdProblem> {
    let bytes = id.as_bytes();
    let Some(&first) = bytes.first() else {
        return Err(IdProblem::Empty);
    };
    if let Some(bad) = bytes.iter().position(|b| !is_id_byte(*b)) {
        let c = id[bad..].chars().next().unwrap_or('\u{fffd}');
        return Err(IdProblem::BadCharacter(c));
    }
    if first == b'.' || first == b'-' {
        return Err(IdProblem::BadStart(first as char));
    }
    if bytes.len() > MAX_ID_LEN {
        return Err(IdProblem::TooLong);
    }
    if is_device_name(id) {
        return Err(IdProblem::DeviceName);
    }
    Ok(())
}

fn is_id_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')
}

/// `CON`, `nul.txt`, `COM1`: reserved with or without an extension.
fn is_device_name(id: &str) -> bool {
    let stem = id.split('.').next().unwrap_or(id);
    match stem.len() {
        3 => ["con", "prn", "aux", "nul"]
            .iter()
            .any(|d| stem.eq_ignore_ascii_case(d)),
        4 => {
            let (name, digit) = stem.split_at(3);
            (name.eq_ignore_ascii_case("com") || name.eq_ignore_ascii_case("lpt"))
                && digit.as_bytes()[0].is_ascii_digit()
        }
        _ => false,
    }
}

/// How a task is executed: one shot, or a conversation that is held open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExecMode {
    #[default]
    CsvWave,
    Interactive,
}

impl ExecMode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CsvWave => "csv-wave",
            Self::Interactive => "interactive",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "csv-wave" => Some(Self::CsvWave),
            "interactive" => Some(Self::Interactive),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_escape_a_folder_are_refused() {
        for (id, why) in [
            ("", IdProblem::Empty),
            ("../../etc/passwd", IdProblem::BadCharacter('/')),
            ("a/b", IdProblem::BadCharacter('/')),
            ("a\nb", IdProblem::BadCharacter('\n')),
            ("ä", IdProblem::BadCharacter('ä')),
            (".hidden", IdProblem::BadStart('.')),
            ("-flag", IdProblem::BadStart('-')),
            ("CON", IdProblem::DeviceName),
            ("nul.txt", IdProblem::DeviceName),
            ("Com1", IdProblem::DeviceName),
        ] {
            assert_eq!(check_task_id(id), Err(why), "{id:?}");
        }
        assert_eq!(check_task_id(&"x".repeat(101)), Err(IdProblem::TooLong));
    }

    #[test]
    fn ordinary_ids_are_accepted() {
        for id in [
            "STRATEGY-001",
            "a",
            "a.b_c-9",
            "CONSOLE",
            "COM",
            "COM10",
            &"x".repeat(100),
        ] {
            assert_eq!(check_task_id(id), Ok(()), "{id:?}");
        }
    }
}
