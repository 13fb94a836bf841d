//! Every kind of mistake in a team file has its message, its line and its help, and all come at once.

use wavecrew_core::team::Team;

/// A small correct team; each case breaks it by replacing one piece of text.
const GOOD: &str = r#"name = "demo"
title = "Demo"
prefix = "dm"
folders = ["out"]
columns = [
  { name = "layer", kind = "input", type = "enum", values = ["L1", "L2"], checks = [{ kind = "one-of", allow_empty = true, message = "Invalid layer: {layer}" }] },
  { name = "goal", kind = "input", type = "number", checks = [{ kind = "numeric", when = "layer", message = "Bad goal: {value}" }] },
  { name = "rate", kind = "output", type = "number" },
]
rules = [{ kind = "pair", prefix = "DO", needs = "PLAN", message = "DO without PLAN: {id}" }]

[scope]
kind = "changes"
steps = [
  { pipeline = "main", max_files = 3, max_modules = 1 },
  { pipeline = "more", max_files = 9, max_modules = 3 },
]
otherwise = "more"

[[roles]]
name = "planner"
prefixes = ["PLAN"]
state = ["plan"]
owes = [{ path = "out/{id}.md", when = { column = "layer", is = ["L1"] } }]
instruction = "Plan."

[[roles]]
name = "doer"
prefixes = ["DO"]
state = ["work"]
instruction = "Do."

[[pipelines]]
name = "main"

[[pipelines.tasks]]
id = "PLAN-1"
title = "Plan"
description = "Plan it"
role = "planner"

[[pipelines.tasks]]
id = "DO-1"
title = "Do"
description = "Do it"
role = "doer"
deps = ["PLAN-1"]
context_from = ["PLAN-1"]
set = { layer = "L1", goal = "80" }

[[pipelines]]
name = "more"
extends = ["main"]
rewire = [{ id = "DO-1", deps = ["PLAN-1"], context_from = [] }]

[[pipelines.tasks]]
id = "DO-2"
title = "Do more"
description = "Do more of it"
role = "doer"
deps = ["DO-1"]

[[loops]]
kind = "fix-verify"
fixer = "doer"
min_pass_rate = 0.9
max_rounds = 2

[[checkpoints]]
role = "planner"
pass = 0.8
warn = 0.5
max_revisions = 2
unattended_revisions = 1

[[gates]]
kind = "score"
name = "ready"
after = "DO"
pass = 80
revise = 60
back_to = "doer"
max_revisions = 2
dimensions = [{ name = "a", weight = 60 }, { name = "b", weight = 40 }]

[[discoveries]]
name = "found"
key = ["file"]
fields = ["file", "notes[]"]
"#;

/// `line: message` or `line: message / help` for each problem.
fn problems(text: &str) -> Vec<String> {
    let problems = Team::parse("demo.toml", text).expect_err("the text has a mistake");
    let line = |p: &wavecrew_core::team::TeamProblem| {
        assert_eq!(p.file, "demo.toml");
        assert!(
            text.get(p.span.clone()).is_some(),
            "{:?} is not in the text",
            p.span
        );
        let help = p
            .help
            .as_ref()
            .map(|help| format!(" / {help}"))
            .unwrap_or_default();
        format!("{}: {}{help}", p.line, p.message)
    };
    problems.iter().map(line).collect()
}

fn broken(from: &str, to: &str) -> String {
    assert_eq!(GOOD.matches(from).count(), 1, "{from:?} must be there once");
    GOOD.replace(from, to)
}

#[test]
fn the_team_that_the_cases_break_is_fine() {
    let team = Team::parse("demo.toml", GOOD).unwrap();
    assert_eq!(
        team.header().join(","),
        "id,title,description,role,layer,goal,deps,context_from,exec_mode,wave,status,findings,rate,error"
    );
}

#[test]
fn each_mistake_has_its_message_line_and_help() {
    for (from, to, wanted) in CASES {
        assert_eq!(problems(&broken(from, to)), [*wanted], "{from:?} -> {to:?}");
    }
}

/// (what is replaced, by what, the one problem that is reported)
const CASES: &[(&str, &str, &str)] = &[
    // Shape.
    (
        "title = \"Demo\"",
        "titel = \"Demo\"\ntitle = \"Demo\"",
        "2: unknown key `titel` in the team / did you mean `title`?",
    ),
    (
        "prefix = \"dm\"\n",
        "",
        "1: the team has no `prefix` / `prefix`: First part of its sessions' names.",
    ),
    (
        "title = \"Demo\"",
        "title = 3",
        "2: `title` must be a string, not a whole number",
    ),
    (
        "folders = [\"out\"]",
        "folders = \"out\"",
        "4: `folders` must be a list, not a string",
    ),
    (
        "folders = [\"out\"]",
        "folders = [1]",
        "4: an entry of `folders` must be a string, not a whole number",
    ),
    (
        "type = \"enum\"",
        "type = \"enumm\"",
        "6: `type` cannot be `enumm` / did you mean `enum`?",
    ),
    (
        "kind = \"numeric\"",
        "kind = \"numerc\"",
        "7: `kind` cannot be `numerc` / did you mean `numeric`?",
    ),
    (
        "kind = \"fix-verify\"\n",
        "",
        "63: an entry of `loops` has no `kind` / known are: generator-critic, fix-verify",
    ),
    (
        "max_rounds = 2",
        "max_rounds = -1",
        "67: `max_rounds` must be between 0 and 4294967295",
    ),
    (
        "instruction = \"Do.\"",
        "",
        "27: `doer` of `roles` has no `instruction` / `instruction`: Instruction template; a column name in braces is replaced by the row's value.",
    ),
    // Names.
    (
        "name = \"demo\"",
        "name = \"de mo\"",
        "1: `name` cannot be `de mo` / use letters, digits, `-` and `_`",
    ),
    (
        "prefix = \"dm\"",
        "prefix = \"dm\"\nslug_len = 0",
        "4: `slug_len` must be between 1 and 100",
    ),
    (
        "[\"out\"]",
        "[\"../out\"]",
        "4: folder `../out` leads out of the session folder",
    ),
    // Columns.
    (
        "  { name = \"rate\"",
        "  { name = \"rate\", kind = \"output\" },\n  { name = \"rate\"",
        "9: column `rate` is there twice",
    ),
    (
        "{ name = \"rate\", kind = \"output\"",
        "{ name = \"rate\"",
        "8: `rate` is not a common column / did you mean `role`? Otherwise say kind = \"input\" or kind = \"output\"",
    ),
    (
        "values = [\"L1\", \"L2\"], checks = [{ kind = \"one-of\", allow_empty = true, message = \"Invalid layer: {layer}\" }]",
        "checks = []",
        "6: the enum column `layer` has no `values`",
    ),
    (
        "when = \"layer\"",
        "when = \"layre\"",
        "7: the check of `goal` names the unknown column `layre` / did you mean `layer`?",
    ),
    (
        "Bad goal: {value}",
        "Bad goal: {vlaue}",
        "7: the check of `goal` names the unknown column `vlaue` / known are: layer, goal, rate, id, title, description, role, deps, context_from, exec_mode, wave, status, findings, error",
    ),
    (
        "needs = \"PLAN\"",
        "needs = \"PLANN\"",
        "10: the rule names the id prefix `PLANN`, which no role has / did you mean `PLAN`?",
    ),
    // Roles.
    (
        "name = \"doer\"\nprefixes = [\"DO\"]",
        "name = \"doer\"\nprefixes = [\"DO\", \"PLAN\"]",
        "29: the id prefix `PLAN` of role `doer` belongs to `planner`",
    ),
    (
        "state = [\"work\"]",
        "state = [\"plan\"]",
        "30: the state field `plan` of role `doer` belongs to `planner` / a field of the shared state has one owner",
    ),
    (
        "instruction = \"Do.\"",
        "instruction = \" \"",
        "31: role `doer` has an empty instruction / an agent plays the role from its instruction alone",
    ),
    (
        "out/{id}.md",
        "out/{idd}.md",
        "24: the owed file `out/{idd}.md` names the unknown column `idd` / did you mean `id`?",
    ),
    (
        "is = [\"L1\"]",
        "is = [\"L3\"]",
        "24: `layer` is never `L3` / known are: L1, L2",
    ),
    // Pipelines.
    (
        "role = \"doer\"\ndeps = [\"DO-1\"]",
        "role = \"deor\"\ndeps = [\"DO-1\"]",
        "60: task `DO-2` names the unknown role `deor` / did you mean `doer`?",
    ),
    (
        "id = \"DO-2\"\ntitle = \"Do more\"\ndescription = \"Do more of it\"\nrole = \"doer\"\ndeps = [\"DO-1\"]",
        "id = \"DO-1\"\ntitle = \"Do more\"\ndescription = \"Do more of it\"\nrole = \"doer\"\ndeps = [\"PLAN-1\"]",
        "57: task `DO-1` is in pipeline `more` twice",
    ),
    (
        "id = \"DO-2\"",
        "id = \"a/b\"",
        "57: a task cannot have the id `a/b`: it contains '/'; use ASCII letters, digits, `-`, `_` and `.`",
    ),
    (
        "id = \"DO-2\"",
        "id = \"PLAN-2\"",
        "57: the id of task `PLAN-2` belongs to role `planner`, not `doer`",
    ),
    (
        "description = \"Do it\"",
        "description = \"\"",
        "45: task `DO-1` has an empty description",
    ),
    (
        "deps = [\"DO-1\"]",
        "deps = [\"DO-11\"]",
        "61: `deps` of task `DO-2` names `DO-11`, which is not in pipeline `more` / did you mean `DO-1`?",
    ),
    (
        "deps = [\"DO-1\"]",
        "deps = [\"DO-2\"]",
        "61: task `DO-2` names itself in `deps`",
    ),
    (
        "rewire = [{ id = \"DO-1\", deps = [\"PLAN-1\"]",
        "rewire = [{ id = \"DO-1\", deps = [\"DO-2\"]",
        "54: tasks of pipeline `more` wait for each other: DO-1 -> DO-2 / take one of these dependencies out",
    ),
    (
        "rewire = [{ id = \"DO-1\"",
        "rewire = [{ id = \"DO-7\"",
        "54: pipeline `more` takes over no task `DO-7` / did you mean `DO-1`?",
    ),
    (
        "extends = [\"main\"]\nrewire = [{ id = \"DO-1\", deps = [\"PLAN-1\"], context_from = [] }]",
        "extends = [\"mian\"]",
        "53: no pipeline `mian` stands above `more` / did you mean `main`?",
    ),
    (
        "set = { layer = \"L1\"",
        "set = { layer = \"L9\"",
        "49: task `DO-1`: `layer` cannot be `L9` / known are: L1, L2",
    ),
    (
        "goal = \"80\"",
        "goal = \"high\"",
        "49: task `DO-1`: `goal` must be a number, not `high`",
    ),
    (
        "goal = \"80\"",
        "gaol = \"80\"",
        "49: task `DO-1` names the unknown input column `gaol` / did you mean `goal`?",
    ),
    // Choice, loops, checkpoints, gates, boards.
    (
        "otherwise = \"more\"",
        "otherwise = \"mor\"",
        "18: `scope` names the unknown pipeline `mor` / did you mean `more`?",
    ),
    (
        "max_files = 9, max_modules = 3",
        "max_files = 2, max_modules = 1",
        "16: `more` is never chosen: `main` above it takes all of its changes / put the smaller step first",
    ),
    (
        "fixer = \"doer\"",
        "fixer = \"dooer\"",
        "65: the loop names the unknown role `dooer` / did you mean `doer`?",
    ),
    (
        "min_pass_rate = 0.9",
        "min_pass_rate = 90",
        "66: `min_pass_rate` must be between 0 and 1 / did you mean 0.9?",
    ),
    (
        "max_rounds = 2",
        "max_rounds = 0",
        "67: `max_rounds` must be at least 1",
    ),
    (
        "warn = 0.5",
        "warn = 0.9",
        "72: `warn` must not be above `pass`: scores between them are a warning",
    ),
    (
        "revise = 60",
        "revise = 90",
        "81: `revise` must not be above `pass`: scores between them offer a revision",
    ),
    (
        "weight = 40",
        "weight = 30",
        "84: the weights of the gate `ready` add up to 90, not 100",
    ),
    (
        "after = \"DO\"",
        "after = \"DOO\"",
        "79: the gate `ready` names the id prefix `DOO`, which no role has / did you mean `DO`?",
    ),
    (
        "key = [\"file\"]",
        "key = [\"fiel\"]",
        "88: the key of `found` names `fiel`, which is not one of its fields / did you mean `file`?",
    ),
    (
        "key = [\"file\"]",
        "key = []",
        "88: the discovery type `found` has no key / name the fields that make two entries the same",
    ),
];

#[test]
fn an_owed_schema_that_is_none_is_refused_at_its_place() {
    let text = broken(
        "when = { column = \"layer\", is = [\"L1\"] } }",
        "content = { kind = \"json\", schema = '{ \"type\": 3 }' } }",
    );
    let found = problems(&text);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("24: ") && found[0].contains("not a JSON Schema"),
        "{found:?}"
    );
}

#[test]
fn many_mistakes_are_reported_at_once_in_the_order_of_their_lines() {
    let text = broken("role = \"planner\"\n\n", "role = \"plannr\"\n\n")
        .replace("deps = [\"DO-1\"]", "deps = [\"DO-9\"]")
        .replace("warn = 0.5", "warn = 0.9")
        .replace("instruction = \"Do.\"", "instruction = \"\"");
    let lines: Vec<String> = problems(&text)
        .iter()
        .map(|p| p.split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(lines, ["31", "40", "61", "72"]);

    let text = GOOD
        .replace("title = ", "titel = ")
        .replace("fixer = ", "fixr = ");
    let found = problems(&text);
    assert!(found.len() >= 6, "{found:?}");
}

#[test]
fn every_syntax_error_is_reported_with_its_line() {
    let found = problems("name = \ntitle = \"x\nprefix = \"p\"\n");
    assert_eq!(
        found.iter().map(|p| &p[..1]).collect::<Vec<_>>(),
        ["1", "2"],
        "{found:?}"
    );
}

#[test]
fn an_empty_file_says_what_is_missing() {
    let found = problems("");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found.iter().all(|p| p.starts_with("1: the team has no ")),
        "{found:?}"
    );
}

#[test]
fn common_columns_are_listed_all_or_not_at_all() {
    let found = problems(&broken("columns = [\n", "columns = [\n  { name = \"id\" },\n"));
    assert_eq!(found.len(), 10, "{found:?}");
    assert!(
        found[0].starts_with("5: the common column `title` is missing"),
        "{found:?}"
    );
}

#[test]
fn a_context_that_does_not_run_before_is_refused() {
    let text = broken(
        "rewire = [{ id = \"DO-1\", deps = [\"PLAN-1\"], context_from = [] }]",
        "",
    )
    .replace(
        "deps = [\"DO-1\"]",
        "deps = [\"PLAN-1\"]\ncontext_from = [\"DO-1\"]",
    );
    assert_eq!(
        problems(&text),
        [
            "62: task `DO-2` takes context from `DO-1`, which does not run before it / make it depend on that task, directly or not"
        ]
    );
}
