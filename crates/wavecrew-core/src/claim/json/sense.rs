//! Whether the values of a JSON file are meaningful: no placeholders, no instructions, tasks that differ and
//! name files.

use super::{JsonRules, texts_at};
use crate::claim::DocumentContext;
use crate::claim::markdown::copy_of;
use crate::claim::rules::{Problem, Rule};
use crate::claim::text::{
    Gap, gap, is_english, is_nothing, names_a_place, particulars, particulars_beside, particulars_without,
    quoted, shares_word, similarity, slot, without_ids, words,
};
use crate::plan::PlanTask;
use serde_json::Value;
use std::collections::BTreeSet;

/// The maximum length of lists for workers.
const MAX: usize = 6;

pub(super) fn problems(value: &Value, rules: JsonRules<'_>, context: DocumentContext<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut walk = Walk {
        context,
        problems: &mut problems,
    };
    walk.value(value, "", "");
    problems.truncate(MAX);
    problems.extend(empty_values(value, rules.schema));
    problems.extend(tasks(value));
    problems.extend(rules.files.iter().filter_map(|place| without_files(value, place)));
    problems.extend(count_of_files(value, rules));
    let mut statements = Vec::new();
    texts(value, &mut statements);
    let statements = statements.join("\n");
    let text = value.to_string();
    let request = words(context.request);
    if !request.is_empty()
        && is_english(&words(&statements))
        && !names_a_place(&statements)
        && particulars_beside(&statements, &request) < 2
    {
        problems.push(Problem::new(
            Rule::Thin,
            format!("says only what the request says: {}", quoted(context.request)),
        ));
    }
    let own = words(&text);
    if !request.is_empty()
        && context.request.is_ascii()
        && text.is_ascii()
        && own.len() > 30
        && !is_later_task(value)
        && !shares_word(&own, &request)
    {
        problems.push(Problem::new(
            Rule::Unrelated,
            format!("mentions nothing from the request {}", quoted(context.request)),
        ));
    }
    problems
}

/// Whether the value is a task that builds on others: these mention the request.
fn is_later_task(value: &Value) -> bool {
    let others = value["depends_on"].as_array();
    others.is_some_and(|others| !others.is_empty())
}

/// All texts in the value.
fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(entries) => entries.iter().for_each(|entry| texts(entry, found)),
        Value::Object(fields) => fields.values().for_each(|inner| texts(inner, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Words for the order of tasks.
const OF_ORDER: &str = " continue continuing remaining rest order previous next ";

struct Walk<'a, 'p> {
    context: DocumentContext<'a>,
    problems: &'p mut Vec<Problem>,
}

impl Walk<'_, '_> {
    fn value(&mut self, value: &Value, place: &str, key: &str) {
        match value {
            Value::String(text) => self.text(text, place, key),
            Value::Array(entries) => {
                for (n, entry) in entries.iter().enumerate() {
                    self.value(entry, &format!("{place}/{n}"), key);
                }
            }
            Value::Object(fields) => {
                for (name, inner) in fields {
                    self.value(inner, &format!("{place}/{name}"), name);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, place: &str, key: &str) {
        let mut add = |rule: Rule, what: &str| {
            self.problems
                .push(Problem::new(rule, format!("{what} at {place}: {}", quoted(text))));
        };
        match gap(text) {
            Some(Gap::Placeholder) if !text.trim().is_empty() => {
                return add(Rule::Placeholder, "has a placeholder");
            }
            Some(Gap::Filler) => return add(Rule::Filler, "has filler text"),
            Some(Gap::Placeholder) | None => {}
        }
        let own = words(text);
        let name = words(&key.replace('_', " "));
        if !own.is_empty()
            && (own == name
                || matches!(
                    text.trim().to_lowercase().as_str(),
                    "string" | "list" | "text" | "value"
                ))
        {
            return add(Rule::Placeholder, "has the name of the field in place of a value");
        }
        if copy_of(text, self.context.instruction).is_some() && own != words(self.context.request) {
            return add(Rule::Copied, "repeats the instruction");
        }
        if slot(text).is_some() && !text.contains('`') && !text.contains('(') {
            return add(Rule::Gaps, "has a slot of a template");
        }
        let is_about_work = ["description", "approach", "problem_statement"].contains(&key);
        let is_criterion = key.contains("criteria") || key.contains("acceptance");
        if is_about_work && !own.is_empty() && own == words(self.context.request) {
            add(Rule::Thin, "repeats the request");
        } else if (is_about_work && particulars_without(text, OF_ORDER) == 0)
            || (is_criterion && particulars(&without_ids(text)) == 0)
        {
            add(Rule::Vague, "names nothing specific");
        } else if key == "description" && only_looks_into(text) {
            add(
                Rule::Vague,
                "only plans to investigate something, without a result",
            );
        }
    }
}

/// A task that only investigates and names no result.
fn only_looks_into(text: &str) -> bool {
    const LOOKING: [&str; 20] = [
        "look into",
        "look at",
        "think about",
        "consider",
        "investigate",
        "explore",
        "discuss",
        "evaluate",
        "research",
        "analyse",
        "analyze",
        "brainstorm",
        "study",
        "examine",
        "assess",
        "研究",
        "调研",
        "考虑",
        "検討",
        "調査",
    ];
    const MAKING: [&str; 22] = [
        "add",
        "adds",
        "fix",
        "fixes",
        "write",
        "implement",
        "create",
        "build",
        "remove",
        "delete",
        "rename",
        "change",
        "replace",
        "move",
        "extend",
        "split",
        "test",
        "document",
        "record",
        "report",
        "update",
        "measure",
    ];
    let lower = text.trim().to_lowercase();
    LOOKING.iter().any(|start| lower.starts_with(start))
        && !words(text).iter().any(|word| MAKING.contains(&word.as_str()))
        && !text.contains(['`', '(', '/', '实', '加', '追'])
}

/// Required texts and lists that are there and empty.
fn empty_values(value: &Value, schema: &Value) -> Option<Problem> {
    let required = schema["required"].as_array()?;
    let is_empty = |name: &&str| match &value[*name] {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(entries) => entries.iter().any(|entry| {
            entry.as_object().is_some_and(serde_json::Map::is_empty)
                || entry.as_str().is_some_and(|text| text.trim().is_empty())
        }),
        _ => false,
    };
    let names: Vec<&str> = required
        .iter()
        .filter_map(Value::as_str)
        .filter(is_empty)
        .collect();
    (!names.is_empty()).then(|| Problem::new(Rule::Missing, format!("has nothing at {}", names.join(", "))))
}

/// Lists of tasks in which two are the same, wherever they are.
fn tasks(value: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    match value {
        Value::Array(entries) => {
            let described: Vec<&str> = entries
                .iter()
                .filter_map(|entry| entry.get("description")?.as_str())
                .collect();
            problems.extend(alike(&described).map(|(rule, text)| Problem::new(rule, text)));
            let orders: Vec<&Value> = entries.iter().filter_map(|entry| entry.get("order")).collect();
            let different: BTreeSet<String> = orders.iter().map(ToString::to_string).collect();
            if different.len() < orders.len() {
                problems.push(Problem::new(Rule::Similar, "gives two tasks the same `order`"));
            }
            let names: Vec<&str> = entries.iter().filter_map(Value::as_str).collect();
            let different: BTreeSet<&&str> = names.iter().collect();
            if names.len() > 1 && different.len() < names.len() {
                problems.push(Problem::new(
                    Rule::Repeated,
                    format!("lists the same twice: {}", quoted(&names.join(", "))),
                ));
            }
            problems.extend(entries.iter().flat_map(tasks));
        }
        Value::Object(fields) => problems.extend(fields.values().flat_map(tasks)),
        _ => {}
    }
    problems
}

/// Two of several texts that are equal, or almost.
pub(in crate::claim) fn alike(texts: &[&str]) -> Option<(Rule, String)> {
    let all: Vec<Vec<String>> = texts.iter().map(|text| words(text)).collect();
    for (at, a) in all.iter().enumerate() {
        for b in &all[at + 1..] {
            if !a.is_empty() && a == b {
                return Some((
                    Rule::Repeated,
                    format!("has the same text twice: {}", quoted(texts[at])),
                ));
            }
            if a.len() > 4 && similarity(a, b) > 0.85 {
                return Some((
                    Rule::Similar,
                    format!("has almost the same text twice: {}", quoted(texts[at])),
                ));
            }
        }
    }
    None
}

/// Tasks that name no file. This proves nothing, because a single one may be right.
fn without_files(value: &Value, place: &str) -> Option<Problem> {
    let (before, field) = place.rsplit_once('/')?;
    let lists: Vec<&Value> = match before.strip_suffix("/*") {
        Some(above) => value
            .pointer(above)?
            .as_array()?
            .iter()
            .map(|entry| &entry[field])
            .collect(),
        None => vec![value.pointer(place)?],
    };
    let empty = lists
        .iter()
        .filter(|list| list.as_array().is_none_or(Vec::is_empty) && list.as_str().is_none_or(is_nothing))
        .count();
    match empty {
        0 => None,
        n if n == lists.len() && lists.len() > 1 => {
            Some(Problem::new(Rule::Missing, format!("names no file at {place}")))
        }
        _ => Some(Problem::new(
            Rule::Vague,
            format!("has a task without files at {place}"),
        )),
    }
}

/// A stated number of files that differs widely from the listed files.
fn count_of_files(value: &Value, rules: JsonRules<'_>) -> Option<Problem> {
    let estimated = value.pointer("/solution/estimated_files")?.as_u64()?;
    let mut names = Vec::new();
    for place in rules.files {
        texts_at(value, place.trim_start_matches('/').split('/'), &mut names);
    }
    let listed = names.iter().collect::<BTreeSet<_>>().len() as u64;
    let apart = estimated.abs_diff(listed);
    (listed > 0 && apart > 3 && apart > listed.max(1)).then(|| {
        Problem::new(
            Rule::Disagrees,
            format!("estimates {estimated} files, and its tasks touch {listed}"),
        )
    })
}

/// Two tasks with the same files and the same specific criteria.
fn same_result(tasks: &[PlanTask]) -> Option<Problem> {
    let result = |task: &PlanTask| {
        let files: BTreeSet<&String> = task.files.iter().collect();
        let criteria = task.convergence_criteria.join("\n");
        (!files.is_empty() && names_a_place(&criteria)).then(|| {
            let files: Vec<String> = files.into_iter().cloned().collect();
            (files, words(&criteria))
        })
    };
    let results: Vec<_> = tasks.iter().map(result).collect();
    let mut pairs = (0..tasks.len()).flat_map(|a| (a + 1..tasks.len()).map(move |b| (a, b)));
    let (a, b) = pairs.find(|&(a, b)| results[a].is_some() && results[a] == results[b])?;
    let text = format!(
        "the plan has two tasks with the same files and criteria: {} and {}",
        tasks[a].id, tasks[b].id
    );
    Some(Problem::new(Rule::Similar, text))
}

/// A task that names another task or steps of the way of working, and nothing else that would have to be done.
fn only_refers(task: &PlanTask, tasks: &[PlanTask]) -> Option<Problem> {
    const WORKING: &str = " commit push merge branch pull review editor overview ask open create ";
    const ENSURING: &str = " sure ensure make makes required verify verifies check checks review everything ";
    let names_other = tasks
        .iter()
        .any(|other| other.id != task.id && task.description.contains(&other.id));
    let rest: Vec<&str> = task
        .description
        .split_whitespace()
        .filter(|word| !word.contains('/'))
        .collect();
    let rest = without_ids(&rest.join(" "));
    let is_prose = !rest.contains(['`', '(']);
    let steps = words(&rest);
    let steps = steps.iter().filter(|word| WORKING.contains(&format!(" {word} ")));
    let text = if names_other && is_prose && particulars_without(&rest, ENSURING) == 0 {
        "only refers to another one"
    } else if steps.count() > 2 && is_prose && particulars_without(&rest, WORKING) == 0 {
        "only lists working steps, such as commit and review, and no result"
    } else {
        return None;
    };
    let text = format!("the plan has a task that {text}: {}", task.id);
    Some(Problem::new(Rule::Vague, text))
}

/// The problems of the tasks of a plan as a whole.
pub fn plan_problems(tasks: &[PlanTask]) -> Vec<Problem> {
    let described: Vec<&str> = tasks.iter().map(|task| task.description.as_str()).collect();
    let mut problems: Vec<Problem> = alike(&described)
        .map(|(rule, text)| Problem::new(rule, format!("the plan {text}")))
        .into_iter()
        .collect();
    problems.extend(same_result(tasks));
    problems.extend(tasks.iter().filter_map(|task| only_refers(task, tasks)));
    if !tasks.is_empty() && tasks.iter().all(|task| task.files.is_empty()) {
        problems.push(Problem::new(
            Rule::Missing,
            "the plan names no file in any of its tasks",
        ));
    }
    problems
}
