//! Which claims of success are compared with the facts.

use super::*;

fn rig() -> Rig {
    let team =
        "columns = [{ name = \"file\", kind = \"output\", type = \"path\", about = \"What was written\" }]\n";
    let generic = Team::builtin_text("generic").expect("built in");
    let (names, rest) = generic.split_once("[[discoveries]]").expect("tables follow");
    let team = Team::parse("team.toml", &format!("{names}{team}[[discoveries]]{rest}")).expect("a team");
    let sheet = Sheet::read("id,description\nA,a\n".as_bytes(), Origin::User).expect("a table");
    let plan = crate::plan::seal(sheet, &team).expect("a plan").0;
    Rig::of(team, plan, Options::default())
}

#[test]
fn files_that_a_worker_names_are_looked_for_whatever_its_role_owes() {
    for (report, checked) in [
        (r#"{"id":"A","status":"completed","file":"made/up.txt"}"#, true),
        (r#"{"id":"A","status":"completed"}"#, false),
        (r#"{"id":"A","status":"completed","file":" ; "}"#, false),
        (
            r#"{"id":"A","status":"failed","file":"made/up.txt","error":"no"}"#,
            false,
        ),
    ] {
        let mut rig = rig();
        rig.spawned(1).ends(1, TurnExit::Code(0), report).closed(1);
        assert_eq!(rig.actions().contains("check"), checked, "{report}");
    }
}
