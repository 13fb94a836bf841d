//! Plans: waves, tables, graphs, removal; the rules are below.

use super::*;
use crate::sheet::Origin;
use crate::team::Team;
use proptest::prelude::*;
use std::borrow::Cow;

mod rules;

fn team(name: &str) -> Team {
    Team::builtin(name).expect("a built-in team")
}

fn sealed(text: &str, team: &Team) -> Result<(Plan, Vec<Warning>), Vec<Problem>> {
    seal(Sheet::read(text.as_bytes(), Origin::User)?, team)
}

fn plan(text: &str) -> Plan {
    sealed(text, &team("generic")).expect("a good plan").0
}

fn ids<'a>(plan: &'a Plan, tasks: &[TaskIx]) -> Vec<&'a str> {
    tasks.iter().map(|t| plan.id(*t)).collect()
}

fn waves(plan: &Plan) -> Vec<Vec<&str>> {
    (1..=plan.waves())
        .map(|w| ids(plan, plan.wave_tasks(w)))
        .collect()
}

#[test]
fn waves_are_dependency_depths_in_row_order() {
    let plan = plan("id,description,deps\nd,x,b;c\nb,x,a\nc,x, a ;a;\na,x,\ne,x,\n");
    assert_eq!(waves(&plan), [vec!["a", "e"], vec!["b", "c"], vec!["d"]]);
    let c = plan.find("c").expect("c");
    assert_eq!(ids(&plan, plan.deps(c)), ["a"]);
    assert_eq!(ids(&plan, plan.dependents(plan.deps(c)[0])), ["b", "c"]);
    assert_eq!(
        (plan.find("zz"), plan.wave_tasks(0), plan.wave_tasks(9)),
        (None, &[][..], &[][..])
    );
}

#[test]
fn a_chain_of_a_million_tasks_has_a_million_waves() {
    // Backwards, so that every task waits for the next row.
    let mut text = String::from("id,description,deps\n");
    for n in 0..1_000_000 {
        let next = if n == 999_999 {
            String::new()
        } else {
            format!("t{}", n + 1)
        };
        text += &format!("t{n},x,{next}\n");
    }
    let plan = plan(&text);
    assert_eq!(plan.waves(), 1_000_000);
    assert_eq!(ids(&plan, plan.wave_tasks(1)), ["t999999"]);
}

#[test]
fn a_table_gets_the_columns_it_lacks_and_keeps_its_own_in_place() {
    let plan = plan("id,colour,description,deps,cost\na,red,x,,3\n");
    assert_eq!(
        plan.header().join(","),
        "id,colour,title,description,role,deps,cost,context_from,exec_mode,wave,status,findings,error"
    );
    let mut out = Vec::new();
    plan.render(&mut out, |_, column| {
        (column == "findings").then_some(Cow::Borrowed("=found"))
    })
    .expect("memory");
    let text = String::from_utf8(out).expect("UTF-8");
    let row = r#""a","red","a","x","","","3","","csv-wave","1","pending","'=found","""#;
    assert_eq!(text.lines().nth(1), Some(row));
    let again = Sheet::read(text.as_bytes(), Origin::Session).expect("our own table");
    let (again, _) = seal(again, &team("generic")).expect("our own plan");
    assert_eq!(again.header(), plan.header());
}

#[test]
fn a_wave_table_has_its_rows_and_one_more_column() {
    let plan = plan("id,description,deps\na,x,\nb,y,a\n");
    let mut out = Vec::new();
    let context = |task: TaskIx, column: &str| {
        (column == "prev_context").then(|| Cow::Owned(format!("before {}", plan.id(task))))
    };
    plan.render_rows(&mut out, plan.wave_tasks(2), "prev_context", context)
        .expect("memory");
    let text = String::from_utf8(out).expect("UTF-8");
    assert_eq!(text.lines().count(), 2);
    assert!(
        text.starts_with("id,title,") && text.contains(",error,prev_context\n\"b\","),
        "{text}"
    );
    assert!(text.ends_with(",\"before b\"\n"), "{text}");
}

#[test]
fn dependents_inherit_what_a_removed_task_waited_for() {
    let plan =
        plan("id,description,deps,context_from\na,x,,\nc1,x,a,a\nc2,x,c1,a\nb,x,c2,a;c1;c2\nz,x,b;c2,b\n");
    let less = plan.without_where(|t| plan.id(t).starts_with('c'));
    assert_eq!(waves(&less), [vec!["a"], vec!["b"], vec!["z"]]);
    let cells = |id| {
        less.find(id)
            .map(|t| (less.cell(t, "deps"), less.cell(t, "context_from")))
    };
    assert_eq!(cells("b"), Some(("a", "a")));
    assert_eq!(cells("z"), Some(("b;a", "b")));
    assert_eq!(less.find("c1"), None);
}

#[test]
fn a_source_of_context_stays_before_its_reader() {
    // Without `gate` nothing would keep `reader` behind `source`.
    let plan = plan(
        "id,description,deps,context_from\na,x,,\nsource,x,a,\nb,x,a,\ngate,x,b,\nreader,x,gate,source\n",
    );
    let less = plan.without_where(|t| matches!(plan.id(t), "gate" | "b"));
    assert_eq!(waves(&less), [vec!["a"], vec!["source"], vec!["reader"]]);
    assert_eq!(less.cell(less.find("reader").expect("kept"), "deps"), "a;source");
}

#[test]
fn graphs_show_every_task_and_edge() {
    let plan = plan("id,title,description,deps\na,\"say \"\"hi\"\" <b>\",x,\nb,,x,a\nc,,x,a\nd,,x,b;c\n");
    let text = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut out = Vec::new();
        write(&mut out).expect("memory");
        String::from_utf8(out).expect("UTF-8")
    };
    insta::assert_snapshot!(text(&|out| tree(&plan, out, |t| plan.id(t).to_owned())), @r"
    a
    ├─ b
    │  └─ d  (also after c)
    └─ c
    ");
    insta::assert_snapshot!(text(&|out| mermaid(&plan, out)));
    insta::assert_snapshot!(text(&|out| dot(&plan, out)));
}

/// Plans whose rows name only rows before them, shuffled.
fn any_plan() -> impl Strategy<Value = (Plan, Vec<bool>)> {
    let edges = proptest::collection::vec(
        proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        1..20,
    );
    edges.prop_flat_map(|edges| {
        let len = edges.len();
        let order = Just((0..len).collect::<Vec<_>>()).prop_shuffle();
        (Just(edges), order, proptest::collection::vec(any::<bool>(), len)).prop_map(
            |(edges, order, removed)| {
                let mut text = String::from("id,description,deps,context_from\n");
                for n in order {
                    let deps: Vec<String> = match n {
                        0 => Vec::new(),
                        n => edges[n].iter().map(|e| format!("t{}", e.index(n))).collect(),
                    };
                    text += &format!("t{n},x,{0},{0}\n", deps.join(";"));
                }
                (plan(&text), removed)
            },
        )
    })
}

/// All tasks that must be done before a task.
fn before(plan: &Plan, task: TaskIx) -> std::collections::BTreeSet<String> {
    let mut open = plan.deps(task).to_vec();
    let mut found = std::collections::BTreeSet::new();
    while let Some(dep) = open.pop() {
        if found.insert(plan.id(dep).to_owned()) {
            open.extend(plan.deps(dep));
        }
    }
    found
}

proptest! {
    #[test]
    fn every_task_runs_right_after_its_last_dependency((plan, _) in any_plan()) {
        for task in plan.tasks() {
            let last = plan.deps(task).iter().map(|d| plan.wave(*d)).max().unwrap_or(0);
            prop_assert_eq!(plan.wave(task), last + 1);
            prop_assert!(plan.wave_tasks(plan.wave(task)).contains(&task));
        }
    }

    #[test]
    fn removal_keeps_the_order_of_what_is_left((plan, removed) in any_plan()) {
        let less = plan.without_where(|t| removed[t.index()]);
        for task in less.tasks() {
            let id = less.id(task);
            let old = plan.find(id).expect("kept tasks were there");
            let mut expected = before(&plan, old);
            expected.retain(|id| less.find(id).is_some());
            prop_assert_eq!(before(&less, task), expected);
        }
        // What is written is what is planned.
        if !less.is_empty() {
            let mut out = Vec::new();
            less.render(&mut out, |_, _| None).expect("memory");
            let again = Sheet::read(out.as_slice(), Origin::Session).expect("our own table");
            let (again, warnings) = seal(again, &team("generic")).expect("our own plan");
            prop_assert_eq!(waves(&again), waves(&less));
            prop_assert!(warnings.is_empty());
            let kept = less.for_session();
            prop_assert_eq!((kept.sheet(), kept.header()), (again.sheet(), again.header()));
            let links = |plan: &Plan, task| (plan.deps(task).to_vec(), plan.context(task).to_vec());
            for task in kept.tasks() {
                prop_assert_eq!(links(&kept, task), links(&again, task));
                prop_assert_eq!(kept.mode(task), again.mode(task));
            }
        }
    }
}
