//! The rules that checks apply, and their weights: one table for the checks and `docs/reference/truth.md`.

use crate::team::Content;

/// What can be wrong with a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    Missing,
    Malformed,
    Placeholder,
    Filler,
    Copied,
    Repeated,
    Uncovered,
    Disagrees,
    Unnamed,
    Gaps,
    Similar,
    Thin,
    Vague,
    Unrelated,
    Absent,
    Unreasoned,
    Admits,
    Unclear,
    Regressed,
    WithoutEffect,
    Stub,
    Weakened,
    Disarmed,
    Shadowed,
    History,
    Tampered,
    Unplanned,
    HardCoded,
    Rewritten,
    Commands,
    Steered,
    Foreign,
}

/// The consequence of a broken rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// A proof: the worker repairs the problem, or the claim is contradicted.
    Refutes,
    /// A doubt: the worker is asked once, then the claim counts as unverified.
    Doubts,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct RuleInfo {
    pub rule: Rule,
    pub name: &'static str,
    pub weight: Weight,
    pub about: &'static str,
}

const fn rule(rule: Rule, name: &'static str, weight: Weight, about: &'static str) -> RuleInfo {
    RuleInfo {
        rule,
        name,
        weight,
        about,
    }
}

pub const RULES: [RuleInfo; 32] = [
    rule(
        Rule::Missing,
        "missing",
        Weight::Refutes,
        "A required file, section, id or value is missing or empty.",
    ),
    rule(
        Rule::Malformed,
        "malformed",
        Weight::Refutes,
        "The file does not have the required form: not UTF-8, not JSON, not its schema, paths outside the project, a cycle.",
    ),
    rule(
        Rule::Placeholder,
        "placeholder",
        Weight::Refutes,
        "A section, a value or a criterion only says that its content will follow: `TBD`, `to be decided`, `待定`, an unfilled form.",
    ),
    rule(
        Rule::Filler,
        "filler",
        Weight::Refutes,
        "Dummy text such as lorem ipsum, or text in which a model talks about itself.",
    ),
    rule(
        Rule::Copied,
        "copied",
        Weight::Refutes,
        "A section repeats the role's own instruction.",
    ),
    rule(
        Rule::Repeated,
        "repeated",
        Weight::Refutes,
        "Two sections, tasks or stories have the same text.",
    ),
    rule(
        Rule::Uncovered,
        "uncovered",
        Weight::Refutes,
        "A Must requirement is in no epic, or an epic names a requirement that is not defined.",
    ),
    rule(
        Rule::Disagrees,
        "disagrees",
        Weight::Refutes,
        "Figures or verdicts contradict each other: in the document, in the report, or by the rules of the gate.",
    ),
    rule(
        Rule::Unnamed,
        "unnamed",
        Weight::Doubts,
        "A required section was not found, but another section may be the one.",
    ),
    rule(
        Rule::Gaps,
        "gaps",
        Weight::Doubts,
        "Part of a section is a placeholder or a slot such as `<name>`; or a whole section, or most requirements, leave their content to later.",
    ),
    rule(
        Rule::Similar,
        "similar",
        Weight::Doubts,
        "Two sections, tasks or stories are almost the same, or all requirements have the same criteria; or two tasks have the same files and criteria.",
    ),
    rule(
        Rule::Thin,
        "thin",
        Weight::Doubts,
        "A section has fewer than four words and names nothing, or its text would fit any request; two sections only ask; nothing could miss the goals; the sections tell what such a document has; or an architecture has only phrases that fit every program.",
    ),
    rule(
        Rule::Vague,
        "vague",
        Weight::Doubts,
        "A criterion, a task or all findings name nothing that can be observed; a task only investigates something, or only refers to another; or a review without findings only praises.",
    ),
    rule(
        Rule::Unrelated,
        "unrelated",
        Weight::Doubts,
        "The document mentions nothing from the request.",
    ),
    rule(
        Rule::Absent,
        "absent",
        Weight::Doubts,
        "The text refers to a line of a file that does not exist, or calls a file existing that is not there; or none of the files exists that a review without findings names.",
    ),
    rule(
        Rule::Unreasoned,
        "unreasoned",
        Weight::Doubts,
        "A score has no reasons, or its reasons contradict it; or points have no evidence.",
    ),
    rule(
        Rule::Admits,
        "admits",
        Weight::Doubts,
        "The text says that the work was not done, that it will be done, or that somebody else should do it.",
    ),
    rule(
        Rule::Unclear,
        "unclear",
        Weight::Doubts,
        "The meaning is ambiguous, such as two verdicts in one sentence.",
    ),
    rule(
        Rule::Regressed,
        "regressed",
        Weight::Refutes,
        "A build or a test that passed before fails, is skipped or is gone, also with the commands and tests of the base commit.",
    ),
    rule(
        Rule::WithoutEffect,
        "without-effect",
        Weight::Refutes,
        "Only comments, layout, dead code or documents changed, and the plan names none of these documents.",
    ),
    rule(
        Rule::Stub,
        "stub",
        Weight::Refutes,
        "Every function that the change adds is empty, says that it is not implemented, or returns nothing.",
    ),
    rule(
        Rule::Weakened,
        "weakened",
        Weight::Refutes,
        "A test of the base commit was removed, skipped, emptied or loosened, and the plan does not announce it.",
    ),
    rule(
        Rule::Disarmed,
        "disarmed",
        Weight::Refutes,
        "The project's test command runs nothing, or ignores that tests fail.",
    ),
    rule(
        Rule::Shadowed,
        "shadowed",
        Weight::Refutes,
        "A new file replaces a module that the tests import from elsewhere.",
    ),
    rule(
        Rule::History,
        "history",
        Weight::Refutes,
        "A branch or a tag is gone, or was moved to a commit that does not descend from it.",
    ),
    rule(
        Rule::Tampered,
        "tampered",
        Weight::Refutes,
        "A file that the check relies on, such as the plan, changed while the worker ran.",
    ),
    rule(
        Rule::Unplanned,
        "unplanned",
        Weight::Doubts,
        "No planned source or no planned test changed, or an existing source file changed that the plan does not name.",
    ),
    rule(
        Rule::HardCoded,
        "hard-coded",
        Weight::Doubts,
        "A function returns only what its tests expect, is a stub among others, hides every error, ignores a parameter that the plan gives it, or uses attributes that only mocks have; or no new test of a file can fail, or no test fails when the functions in the new files that tests name do nothing.",
    ),
    rule(
        Rule::Rewritten,
        "rewritten",
        Weight::Doubts,
        "A test of the base commit was changed although the plan does not announce it, and its old version fails on the new code.",
    ),
    rule(
        Rule::Commands,
        "commands",
        Weight::Doubts,
        "A file that the build or the tests run was changed, and the plan does not name it.",
    ),
    rule(
        Rule::Steered,
        "steered",
        Weight::Doubts,
        "Code changes the test framework, imports or names a test, or detects what runs it.",
    ),
    rule(
        Rule::Foreign,
        "foreign",
        Weight::Doubts,
        "While the task ran, files, branches or settings of the repository changed that its role may not change, whoever changed them.",
    ),
];

/// A kind of work, and its rules.
#[derive(Clone, Copy, Debug)]
pub struct TruthKind {
    pub name: &'static str,
    /// The conditions for `verified`.
    pub verified: &'static str,
    /// In groups, so that rules of several kinds are listed once.
    pub rules: &'static [&'static [Rule]],
}

/// Rules for every text that people read.
const ANY_TEXT: &[Rule] = &[
    Rule::Missing,
    Rule::Malformed,
    Rule::Placeholder,
    Rule::Filler,
    Rule::Copied,
    Rule::Gaps,
    Rule::Similar,
];
/// Rules for texts that must have content.
const OF_SUBSTANCE: &[Rule] = &[
    Rule::Repeated,
    Rule::Disagrees,
    Rule::Thin,
    Rule::Unrelated,
    Rule::Absent,
];

pub const KINDS: [TruthKind; 10] = [
    TruthKind {
        name: "document",
        verified: "Every required section is there, with content of its own about the request.",
        rules: &[ANY_TEXT, OF_SUBSTANCE, &[Rule::Unnamed, Rule::Admits]],
    },
    TruthKind {
        name: "requirements",
        verified: "As for a document; every requirement has an id, a priority and a criterion that names something observable.",
        rules: &[
            ANY_TEXT,
            OF_SUBSTANCE,
            &[Rule::Unnamed, Rule::Vague, Rule::Unclear],
        ],
    },
    TruthKind {
        name: "epics",
        verified: "As for requirements; every Must requirement is in an epic, every named requirement exists, the stories differ.",
        rules: &[
            ANY_TEXT,
            OF_SUBSTANCE,
            &[Rule::Unnamed, Rule::Vague, Rule::Uncovered],
        ],
    },
    TruthKind {
        name: "review",
        verified: "A verdict that follows from the findings; findings at lines that exist, each with a description and a fix of its own.",
        rules: &[
            ANY_TEXT,
            &[
                Rule::Disagrees,
                Rule::Unnamed,
                Rule::Vague,
                Rule::Absent,
                Rule::Admits,
                Rule::Unclear,
            ],
        ],
    },
    TruthKind {
        name: "plan or data",
        verified: "JSON that follows its schema (`null` is missing, numbers and texts are the same, `a; b` is a list), with meaningful values; tasks that differ and name their files.",
        rules: &[ANY_TEXT, OF_SUBSTANCE, &[Rule::Vague]],
    },
    TruthKind {
        name: "score",
        verified: "As for its document; the score has reasons, and all figures agree.",
        rules: &[&[Rule::Missing, Rule::Disagrees, Rule::Unreasoned]],
    },
    TruthKind {
        name: "report",
        verified: "Never by itself: without files, commits or a command to compare with, the best verdict is unverified.",
        rules: &[&[
            Rule::Placeholder,
            Rule::Filler,
            Rule::Copied,
            Rule::Disagrees,
            Rule::Admits,
            Rule::Thin,
        ]],
    },
    TruthKind {
        name: "file",
        verified: "The file exists and is not empty.",
        rules: &[&[Rule::Missing, Rule::Malformed]],
    },
    TruthKind {
        name: "code",
        verified: "It changes what the program does, in the planned files; build and tests pass with the commands and tests of the base commit, and with its own.",
        rules: &[&[
            Rule::Missing,
            Rule::Regressed,
            Rule::WithoutEffect,
            Rule::Stub,
            Rule::Weakened,
            Rule::Disarmed,
            Rule::Shadowed,
            Rule::History,
            Rule::Disagrees,
            Rule::Unplanned,
            Rule::HardCoded,
            Rule::Rewritten,
            Rule::Commands,
            Rule::Steered,
        ]],
    },
    TruthKind {
        name: "any work of a role",
        verified: "Branches and tags are where they were, or at a descendant; nothing changed that the role may not change; the files that the check relies on are unchanged.",
        rules: &[&[Rule::History, Rule::Tampered, Rule::Foreign]],
    },
];

/// A problem, worded so that it can follow the name of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub rule: Rule,
    pub text: String,
}

impl Problem {
    pub fn new(rule: Rule, text: impl Into<String>) -> Self {
        Self {
            rule,
            text: text.into(),
        }
    }
}

impl Rule {
    /// # Panics
    /// Never: every rule is in the table.
    pub fn info(self) -> &'static RuleInfo {
        RULES
            .iter()
            .find(|info| info.rule == self)
            .expect("every rule is in the table")
    }

    pub fn refutes(self) -> bool {
        self.info().weight == Weight::Refutes
    }
}

impl TruthKind {
    /// The kind of a file, by its required content.
    pub(super) fn of(content: &Content) -> &'static Self {
        let name = match content {
            Content::Markdown { .. } => "document",
            Content::Requirements { .. } => "requirements",
            Content::Epics { .. } => "epics",
            Content::Review(_) => "review",
            Content::Json { .. } => "plan or data",
            Content::Any | Content::TestFile => "file",
        };
        Self::named(name)
    }

    /// # Panics
    /// When there is no such kind.
    pub fn named(name: &str) -> &'static Self {
        KINDS
            .iter()
            .find(|kind| kind.name == name)
            .expect("a kind of the table")
    }

    pub fn has(&self, rule: Rule) -> bool {
        self.rules.iter().any(|group| group.contains(&rule))
    }

    /// Keeps only the problems that the table lists for this kind.
    pub fn keep(&self, problems: &mut Vec<Problem>) {
        problems.retain(|problem| self.has(problem.rule));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_same_tables() {
        let page = include_str!("../../../../docs/reference/truth.md");
        for info in &RULES {
            let verdict = match info.weight {
                Weight::Refutes => "contradicted",
                Weight::Doubts => "unverified",
            };
            let row = format!("| {} | {verdict} | {} |", info.name, info.about);
            assert!(page.contains(&row), "docs/reference/truth.md lacks: {row}");
            assert!(
                KINDS.iter().any(|kind| kind.has(info.rule)),
                "{} holds for nothing",
                info.name
            );
        }
        for kind in &KINDS {
            let of = |weight: Weight| {
                let names: Vec<&str> = RULES
                    .iter()
                    .filter(|info| info.weight == weight && kind.has(info.rule))
                    .map(|info| info.name)
                    .collect();
                if names.is_empty() {
                    "–".to_owned()
                } else {
                    names.join(", ")
                }
            };
            let row = format!(
                "| {} | {} | {} | {} |",
                kind.name,
                kind.verified,
                of(Weight::Doubts),
                of(Weight::Refutes)
            );
            assert!(page.contains(&row), "docs/reference/truth.md lacks: {row}");
        }
    }
}
