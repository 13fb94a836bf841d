//! What a team asks of its table, beyond what every table owes. Derived from a team; knows no rows.

/// The rules one team adds to the common ones.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The full header of the team's session tables, in order.
    pub header: Vec<String>,
    pub roles: Roles,
    pub columns: Vec<ColumnRule>,
    pub pairs: Vec<Pair>,
}

#[derive(Clone, Debug)]
pub enum Roles {
    Any,
    Of(Vec<RoleRule>),
}

#[derive(Clone, Debug)]
pub struct RoleRule {
    pub name: String,
    /// What ids of this role start with, before a `-`.
    pub prefixes: Vec<String>,
}

/// A check on one column of the team's own.
#[derive(Clone, Debug)]
pub struct ColumnRule {
    pub column: String,
    pub check: Check,
}

#[derive(Clone, Debug)]
pub enum Check {
    /// One of these values; the empty cell too where `empty` says so.
    OneOf { values: Vec<String>, empty: Empty },
    /// A number wherever the column `with` is filled.
    NumberWith { with: String },
    /// Never empty.
    Filled,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Empty {
    Allowed,
    Refused,
}

/// Every `{follower}-N` depends on `{leader}-N`.
#[derive(Clone, Debug)]
pub struct Pair {
    pub follower: String,
    pub leader: String,
}

/// The columns every session table has, in order, when a team adds none.
pub const COMMON_HEADER: [&str; 11] = [
    "id",
    "title",
    "description",
    "role",
    "deps",
    "context_from",
    "exec_mode",
    "wave",
    "status",
    "findings",
    "error",
];

impl Rules {
    /// The team that accepts any table with ids and descriptions.
    pub fn generic() -> Self {
        Self {
            header: COMMON_HEADER.map(str::to_owned).to_vec(),
            roles: Roles::Any,
            columns: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// Columns without which the table means nothing to the team.
    pub(super) fn required(&self) -> impl Iterator<Item = &str> {
        let role = matches!(self.roles, Roles::Of(_)).then_some("role");
        let filled = self.columns.iter().filter(|rule| match &rule.check {
            Check::OneOf { empty, .. } => *empty == Empty::Refused,
            Check::NumberWith { .. } => false,
            Check::Filled => true,
        });
        ["id", "description"]
            .into_iter()
            .chain(role)
            .chain(filled.map(|rule| rule.column.as_str()))
    }
}
