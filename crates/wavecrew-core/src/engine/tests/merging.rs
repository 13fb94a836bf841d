//! When work in trees of its own is merged, and what comes of it.

use super::*;
use crate::event::WorktreeRecord;

fn rig(csv: &str) -> Rig {
    let options = Options {
        concurrency: 2,
        isolation: Isolation::Everybody,
        ..Options::default()
    };
    Rig::with(csv, options)
}

fn worktree(name: &str) -> WorktreeRecord {
    WorktreeRecord {
        branch: format!("wavecrew/s/{name}"),
        folder: format!("worktrees/{name}"),
        base: "0".to_owned(),
    }
}

impl Rig {
    fn in_worktree(&mut self, worker: u64, id: &str) -> &mut Self {
        let (worker, worktree) = (WorkerId(worker), worktree(id));
        self.put(Input::WorktreeMade { worker, worktree })
    }

    fn merge_done(&mut self, id: &str, outcome: MergeOutcome) -> &mut Self {
        let task = id.to_owned();
        self.put(Input::MergeDone { task, outcome })
    }

    fn worktree_state_of(&self, id: &str) -> Option<WorktreeState> {
        let ledger = self.engine.ledger();
        let state = ledger.task(ledger.plan().find(id).expect("a task"));
        state.worktree.as_ref().map(|worktree| worktree.state.clone())
    }
}

fn merged() -> MergeOutcome {
    MergeOutcome::Merged {
        commit: "1".to_owned(),
    }
}

#[test]
fn a_wave_is_merged_in_the_order_of_the_table_before_the_next_one_starts() {
    let mut rig = rig("id,description,deps\nA,a,\nB,b,\nC,c,A\n");
    rig.in_worktree(1, "A").in_worktree(2, "B");
    rig.completes(2, "B").completes(1, "A");
    assert!(rig.actions().ends_with("close 2, close 1, land A B"));
    rig.merge_done("B", MergeOutcome::Nothing);
    assert_eq!(rig.actions(), "");
    rig.merge_done("A", merged());
    assert_eq!(rig.actions(), "merged 1, wave-2.csv 1, spawn C#1");
    assert_eq!(
        rig.worktree_state_of("B"),
        Some(WorktreeState::Merged { commit: None })
    );
}

#[test]
fn a_conflict_fails_the_task_and_skips_what_builds_on_it() {
    let mut rig = rig("id,description,deps\nA,a,\nB,b,A\n");
    rig.in_worktree(1, "A").completes(1, "A");
    rig.merge_done("A", MergeOutcome::Refused("merge conflict in x".to_owned()));
    assert_eq!(
        (rig.status("A"), rig.status("B")),
        (Status::Failed, Status::Skipped)
    );
    assert_eq!(rig.error("A"), "merge conflict in x");
    assert_eq!(rig.worktree_state_of("A"), Some(WorktreeState::Refused));
    assert!(rig.actions().ends_with("finish failed"));
}

#[test]
fn failed_work_is_not_merged_and_is_gone_on_with() {
    let mut rig = rig("id,description\nA,a\n");
    rig.in_worktree(1, "A")
        .spawned(1)
        .ends(1, TurnExit::Code(3), "")
        .closed(1);
    assert!(!rig.actions().contains("land"));
    let task = rig.engine.ledger().plan().find("A").expect("a task");
    let why = "retry".to_owned();
    drop(rig.engine.reset(vec![StaleResult { task, why }]));
    assert_eq!(rig.worktree_state_of("A"), Some(WorktreeState::Open));
}

#[test]
fn what_was_not_merged_when_the_run_ended_is_merged_first_by_the_next_one() {
    let mut first = rig("id,description,deps\nA,a,\nB,b,A\n");
    first.in_worktree(1, "A").completes(1, "A");
    assert!(first.actions().ends_with("land A"));
    let team = Arc::clone(&first.engine.ledger().team);
    let mut ledger = Ledger::new(team, table("id,description,deps\nA,a,\nB,b,A\n"));
    for event in &first.events {
        ledger.apply(event);
    }
    let mut second = rig("id,description\nX,x\n");
    second.actions();
    let options = Options {
        isolation: Isolation::Everybody,
        ..Options::default()
    };
    second.engine = Engine::new(ledger, options);
    second.put(Input::Begin {
        recovered: Vec::new(),
    });
    assert_eq!(second.actions(), "land A");
    second.merge_done("A", merged());
    assert_eq!(second.actions(), "wave-2.csv 1, spawn B#1");
}

#[test]
fn a_run_that_is_stopped_waits_for_what_is_being_merged() {
    let mut rig = rig("id,description\nA,a\n");
    rig.in_worktree(1, "A").completes(1, "A").put(Input::Drain);
    assert!(rig.actions().ends_with("land A"));
    rig.merge_done("A", merged());
    assert_eq!(rig.actions(), "finish interrupted");
}

#[test]
fn roles_say_who_works_apart_unless_the_run_does() {
    use crate::team::Workspace::{Project, Worktree};
    let planex = "id,title,description,role,issue_ids,exec_mode,deps\n\
                  PLAN-1,p,p,planner,I,csv-wave,\nEXEC-1,e,e,executor,I,csv-wave,PLAN-1\n";
    for (isolation, plan, exec) in [
        (Isolation::ByRole, Project, Worktree),
        (Isolation::Never, Project, Project),
        (Isolation::Everybody, Worktree, Worktree),
    ] {
        let team = Team::builtin("planex").expect("built in");
        let sheet = Sheet::read(planex.as_bytes(), Origin::User).expect("a table");
        let table = crate::plan::seal(sheet, &team).expect("a plan").0;
        let options = Options {
            isolation,
            ..Options::default()
        };
        let rig = Rig::of(team, table, options);
        let of = |id: &str| {
            let task = rig.engine.ledger().plan().find(id).expect("a task");
            rig.engine.workspace(task)
        };
        assert_eq!((of("PLAN-1"), of("EXEC-1")), (plan, exec));
    }
}
