//! Assertions and their strength. The languages find them in source code.

use serde::Serialize;

/// One assertion that can fail.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assertion {
    pub line: u32,
    /// The tested expression, as tokens: the same in `assert f(x) == 1` and `assert f(x)`.
    pub subject: String,
    pub strength: Strength,
    /// The whole assertion, as tokens.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// Only one value passes.
    Exact,
    /// Within a tolerance; `None` for the default one or an unknown one.
    Close { tolerance: Option<f64> },
    /// A property of the value: contained, larger, of a type, of a length.
    Partial,
    /// There is a value, or it is truthy, or it differs from one other value.
    Presence,
    /// An exception of a named type with a certain message.
    RaisesMatching,
    /// An exception of a named type.
    Raises,
    /// Any exception at all.
    RaisesAnything,
}

impl Strength {
    /// Assertions on values and those on exceptions are not comparable.
    pub(crate) fn is_about_exceptions(self) -> bool {
        match self {
            Self::RaisesMatching | Self::Raises | Self::RaisesAnything => true,
            Self::Exact | Self::Close { .. } | Self::Partial | Self::Presence => false,
        }
    }

    /// Larger demands more, among those that are comparable.
    pub(crate) fn rank(self) -> u8 {
        match self {
            Self::Exact | Self::RaisesMatching => 4,
            Self::Close { .. } | Self::Raises => 3,
            Self::Partial => 2,
            Self::Presence | Self::RaisesAnything => 1,
        }
    }

    /// Whether this demands less than `before`.
    pub(crate) fn is_weaker_than(self, before: Self) -> bool {
        if self.is_about_exceptions() != before.is_about_exceptions() {
            return false;
        }
        if let (Self::Close { tolerance: Some(now) }, Self::Close { tolerance }) = (self, before) {
            // The default tolerances are smaller than those that people write to make a test pass.
            return tolerance.is_none_or(|then| now > then);
        }
        self.rank() < before.rank()
    }
}

impl std::fmt::Display for Strength {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact => f.write_str("an exact value"),
            Self::Close { tolerance: None } => f.write_str("a close value"),
            Self::Close {
                tolerance: Some(tolerance),
            } => write!(f, "a value within {tolerance}"),
            Self::Partial => f.write_str("a property of the value"),
            Self::Presence => f.write_str("that there is a value"),
            Self::RaisesMatching => f.write_str("an exception with its message"),
            Self::Raises => f.write_str("a certain exception"),
            Self::RaisesAnything => f.write_str("any exception"),
        }
    }
}
