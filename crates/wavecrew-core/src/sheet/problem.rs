//! What is wrong with a table, and where. Knows lines and cells, not file names: the edge adds those.

use std::fmt;

/// A reason to refuse a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub message: String,
    /// 1-based line of the offending text; 0 when the whole file is meant.
    pub line: u32,
    /// Name of the column the offending text stands in.
    pub column: Option<String>,
    /// The offending text as it stands in the cell, to be marked by the edge.
    pub text: String,
    pub help: Option<String>,
}

impl Problem {
    pub fn new(line: u32, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            line,
            column: None,
            text: String::new(),
            help: None,
        }
    }

    #[must_use]
    pub fn at(mut self, column: &str, text: &str) -> Self {
        self.column = Some(column.to_owned());
        text.clone_into(&mut self.text);
        self
    }

    #[must_use]
    pub fn marking(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// A problem that does not make a table invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning(pub Problem);

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// ``did you mean `x`?`` for the known name closest to `unknown`, if one is close enough to be meant.
pub fn did_you_mean<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(unknown, known).map(|name| format!("did you mean `{name}`?"))
}

/// The known name that was most likely meant.
pub fn closest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = unknown.chars().count();
    // A third of the letters may be wrong; beyond that a suggestion is a guess.
    let allowed = (length / 3).min(4);
    let mut best = None;
    for name in known {
        if name.len().abs_diff(unknown.len()) > allowed * 4 || name == unknown {
            continue;
        }
        let distance = if name.eq_ignore_ascii_case(unknown) {
            0
        } else {
            strsim::osa_distance(unknown, name)
        };
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
            if distance <= 1 && length > 3 {
                break;
            }
        }
    }
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_what_is_close_and_nothing_else() {
        let known = ["strategist", "generator", "executor"];
        assert_eq!(
            did_you_mean("genrator", known).as_deref(),
            Some("did you mean `generator`?")
        );
        assert_eq!(
            did_you_mean("EXECUTOR", known).as_deref(),
            Some("did you mean `executor`?")
        );
        assert_eq!(did_you_mean("plumber", known), None);
        assert_eq!(did_you_mean("", known), None);
    }
}
