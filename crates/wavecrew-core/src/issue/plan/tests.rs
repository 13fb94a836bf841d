//! Plans as data.

use super::*;

/// `title @wave <depends>` per issue.
fn shown(text: &str) -> Vec<String> {
    let issues = read_plan(text).expect("a plan");
    let one = |issue: &Planned| {
        let before: Vec<String> = issue.depends_on.iter().map(usize::to_string).collect();
        format!("{} @{} <{}>", issue.title, issue.wave, before.join(" "))
    };
    issues.iter().map(one).collect()
}

#[test]
fn numbered_headings_are_phases_that_follow_each_other() {
    let plan = "# The plan\n\nWhy.\n\n## Overview\n\nText.\n\n## Phase 1: Storage\n\nKeep rows.\n\n## Phase 2 - Search\n\n\
                Find rows.\n\n## Phase 3\n\nShip.\n";
    assert_eq!(shown(plan), ["Storage @1 <>", "Search @2 <0>", "Phase 3 @3 <1>"]);
    assert_eq!(read_plan(plan).unwrap()[0].text, "Keep rows.");
    let plan = "## 1. A\n\na\n\n### 1.1 More\n\nb\n\n## 2) B\n\n## 3 ways to fail\n";
    assert_eq!(shown(plan), ["A @1 <>", "B @2 <0>"]);
    assert_eq!(read_plan(plan).unwrap()[0].text, "a\n\n### 1.1 More\n\nb");
}

#[test]
fn open_boxes_of_a_phase_are_its_issues() {
    let plan = "## Phase 1: Base\n\n- [x] done already\n- [ ] Make `x`\n  - [ ] inner\n  - [x] inner done\n  - plain\n\
                - [ ] Make y\n\n## Phase 2: Top\n\n- [ ] Use both\n";
    assert_eq!(shown(plan), ["Make x @1 <>", "Make y @1 <>", "Use both @2 <0 1>"]);
    assert_eq!(
        read_plan(plan).unwrap()[0].text,
        "Phase: Base\n\nMake x\n\n- [ ] inner\n- plain"
    );
}

#[test]
fn a_phase_that_is_done_is_passed_over_and_what_follows_waits_for_what_is_before_it() {
    let plan = "## Step 1\n- [ ] a\n## Step 2\n- [x] b\n## Step 3\n- [ ] c\n";
    assert_eq!(shown(plan), ["a @1 <>", "c @2 <0>"]);
}

#[test]
fn a_phase_may_say_what_it_depends_on() {
    let plan = "## Phase 1: A\n\na\n\n## Phase 2: B\n\n**Depends on:** none\n\n## Phase 3: C\n\nDepends on: Phase 1, Phase 2\n";
    assert_eq!(shown(plan), ["A @1 <>", "B @1 <>", "C @2 <0 1>"]);
    let problem = read_plan("## Phase 1: A\n\nDepends on: phase 4\n").unwrap_err();
    assert_eq!(problem, PlanProblem::UnknownPhase { line: 1, number: 4 });
}

#[test]
fn headings_with_check_lists_are_phases_too() {
    let plan = "---\ntitle: x\n---\n# Plan\n\n## Background\n\nText\n\n## Backend\n\n* [ ] api\n\n### Details\n\n* [ ] schema\n\n\
                ## Frontend\n\n* [ ] page\n";
    assert_eq!(shown(plan), ["api @1 <>", "schema @2 <0>", "page @3 <1>"]);
}

#[test]
fn lists_alone_make_a_plan() {
    assert_eq!(
        shown("1. Set up\n   with care\n2. Build\n   - [ ] one\n   - [ ] two\n3. [x] Done\n4. Ship\n"),
        [
            "Set up with care @1 <>",
            "one @2 <0>",
            "two @2 <0>",
            "Ship @3 <1 2>"
        ]
    );
    assert_eq!(shown("Things:\n\n- [ ] a\n- [ ] b\n"), ["a @1 <>", "b @1 <>"]);
}

#[test]
fn what_only_looks_like_a_plan_is_none() {
    for (text, problem) in [
        ("", PlanProblem::Empty),
        (" \n\n", PlanProblem::Empty),
        (
            "# Title\n\nJust prose, phase 1 included.\n",
            PlanProblem::NoPhases,
        ),
        ("# Title\n\n- a\n- b\n", PlanProblem::NoPhases),
        ("```\n## Phase 1\n- [ ] x\n```\n", PlanProblem::NoPhases),
        ("- [x] a\n- [X] b\n", PlanProblem::AllDone),
        ("## Phase 1\n- [x] a\n", PlanProblem::AllDone),
    ] {
        assert_eq!(read_plan(text), Err(problem), "{text:?}");
    }
}
