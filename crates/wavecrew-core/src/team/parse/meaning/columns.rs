//! Columns, their checks, and the rules between rows.

use super::{Check, did_you_mean, is_word};
use crate::team::parse::source::at;
use crate::team::{COMMON_COLUMNS, Column, ColumnCheck, ColumnKind, ColumnType, RowRule};

impl Check<'_, '_, '_> {
    pub(super) fn columns(&mut self) {
        let team = self.team;
        self.unique(
            "columns",
            "column",
            "name",
            team.columns.iter().map(|c| c.name.as_str()),
        );
        for (c, column) in team.columns.iter().enumerate() {
            self.column_itself(c, column);
            for (k, check) in column.checks.iter().enumerate() {
                self.column_check(c, column, k, check);
            }
        }
        let listed = |name: &str| team.column(name).is_some();
        if COMMON_COLUMNS.iter().any(|name| listed(name)) {
            for missing in COMMON_COLUMNS.iter().filter(|name| !listed(name)) {
                let help = Some("list all common columns in their places, or none of them".to_owned());
                self.problem(
                    at!["columns"],
                    format!("the common column `{missing}` is missing"),
                    help,
                );
            }
        }
        self.rules();
    }

    fn column_itself(&mut self, c: usize, column: &Column) {
        let name = column.name.as_str();
        if !is_word(name) {
            let help = Some("use letters, digits, `-` and `_`, so that it can stand in braces".to_owned());
            self.problem(
                at!["columns", c, "name"],
                format!("a column cannot be called `{name}`"),
                help,
            );
        }
        let common = COMMON_COLUMNS.contains(&name);
        let wanted = if name == "wave" {
            ColumnKind::Computed
        } else {
            ColumnKind::Common
        };
        if common && column.kind != wanted {
            let help = Some(match wanted {
                ColumnKind::Computed => "say kind = \"computed\"".to_owned(),
                ColumnKind::Common | ColumnKind::Input | ColumnKind::Output => "leave `kind` out".to_owned(),
            });
            self.problem(
                at!["columns", c, "kind"],
                format!("`{name}` is a common column of every table"),
                help,
            );
        }
        if !common && column.kind == ColumnKind::Common {
            let close = COMMON_COLUMNS
                .iter()
                .find(|known| strsim::damerau_levenshtein(known, name) <= 2);
            let help = close.map_or_else(
                || "say kind = \"input\" or kind = \"output\"".to_owned(),
                |close| {
                    format!("did you mean `{close}`? Otherwise say kind = \"input\" or kind = \"output\"")
                },
            );
            self.problem(
                at!["columns", c, "name"],
                format!("`{name}` is not a common column"),
                Some(help),
            );
        }
        match (column.type_ == ColumnType::Enum, column.values.is_empty()) {
            (true, true) => {
                self.problem(
                    at!["columns", c, "type"],
                    format!("the enum column `{name}` has no `values`"),
                    None,
                );
            }
            (false, false) => {
                let help = Some("say type = \"enum\"".to_owned());
                self.problem(
                    at!["columns", c, "values"],
                    format!("`{name}` has values but is not an enum"),
                    help,
                );
            }
            (true, false) | (false, true) => {}
        }
    }

    fn column_check(&mut self, c: usize, column: &Column, k: usize, check: &ColumnCheck) {
        let what = format!("the check of `{}`", column.name);
        self.placeholders(
            at!["columns", c, "checks", k, "message"],
            check.message(),
            &["value"],
            &what,
        );
        match check {
            ColumnCheck::OneOf { .. } if column.values.is_empty() => {
                let message = format!("{what} compares with `values`, and there are none");
                self.problem(at!["columns", c, "checks", k, "kind"], message, None);
            }
            ColumnCheck::Numeric { when: Some(when), .. } => {
                self.known_column(at!["columns", c, "checks", k, "when"], when, None, &what);
            }
            ColumnCheck::OneOf { .. }
            | ColumnCheck::Numeric { when: None, .. }
            | ColumnCheck::NonEmpty { .. } => {}
        }
    }

    fn rules(&mut self) {
        let team = self.team;
        for (r, rule) in team.rules.iter().enumerate() {
            self.placeholders(at!["rules", r, "message"], rule.message(), &[], "the rule");
            match rule {
                RowRule::Pair { prefix, needs, .. } => {
                    self.known_prefix(at!["rules", r, "prefix"], prefix, "the rule");
                    self.known_prefix(at!["rules", r, "needs"], needs, "the rule");
                }
                RowRule::InteractiveResult { .. } => {}
            }
        }
    }
}

/// A value a pipeline gives to a team's column, against the column's own checks.
pub(super) fn value_problem(column: &Column, value: &str) -> Option<(String, Option<String>)> {
    // Filled in later, per issue or per request.
    if value.contains('{') {
        return None;
    }
    let name = &column.name;
    let known = |value: &str| column.values.is_empty() || column.values.iter().any(|v| v == value);
    if column.type_ == ColumnType::Enum && !value.is_empty() && !known(value) {
        let help = did_you_mean(value, column.values.iter().map(String::as_str));
        return Some((format!("`{name}` cannot be `{value}`"), help));
    }
    if column.type_ == ColumnType::Number && !value.is_empty() && value.parse::<f64>().is_err() {
        return Some((format!("`{name}` must be a number, not `{value}`"), None));
    }
    let wanted = column.checks.iter().any(|check| match check {
        ColumnCheck::OneOf { allow_empty, .. } => !allow_empty,
        ColumnCheck::NonEmpty { .. } => true,
        ColumnCheck::Numeric { .. } => false,
    });
    (wanted && value.is_empty()).then(|| (format!("`{name}` may not be empty"), None))
}
