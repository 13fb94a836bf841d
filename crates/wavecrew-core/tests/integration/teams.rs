//! Every team that is shipped parses, and its pipelines have the rows and waves they are known for.

use wavecrew_core::team::{ChangeSize, Pipeline, PipelineIssue, PipelineTask, Team};

const EXAMPLES: [(&str, &str); 3] = [
    (
        "code-review",
        include_str!("../../../../examples/teams/code-review.toml"),
    ),
    (
        "tech-debt",
        include_str!("../../../../examples/teams/tech-debt.toml"),
    ),
    (
        "research",
        include_str!("../../../../examples/teams/research.toml"),
    ),
];

fn parse(file: &str, text: &str) -> Team {
    Team::parse(file, text).unwrap_or_else(|problems| {
        let lines: Vec<String> = problems.iter().map(|p| format!("{p} ({:?})", p.help)).collect();
        panic!("{}", lines.join("\n"))
    })
}

fn builtin(name: &str) -> Team {
    parse(
        &format!("{name}.toml"),
        Team::builtin_text(name).expect("a built-in team"),
    )
}

fn example(name: &str) -> Team {
    let (_, text) = EXAMPLES
        .iter()
        .find(|(known, _)| *known == name)
        .expect("an example");
    parse(&format!("{name}.toml"), text)
}

/// `STRATEGY-001 | TESTGEN-001 TESTGEN-002 | ...`: the tasks of each wave.
fn waves(pipeline: &Pipeline) -> String {
    let ids = |wave: &Vec<&PipelineTask>| {
        wave.iter()
            .map(|task| task.id.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    pipeline.waves().iter().map(ids).collect::<Vec<_>>().join(" | ")
}

/// One line per row: the values of some columns.
fn rows(team: &Team, pipeline: &str, columns: &[&str]) -> Vec<String> {
    let (header, rows) = team.pipeline(pipeline).expect("a pipeline").to_csv_rows(team);
    let pick = |row: &Vec<String>| {
        let cell = |c: &&str| row[header.iter().position(|h| h == c).expect("a column")].clone();
        columns.iter().map(cell).collect::<Vec<_>>().join(",")
    };
    rows.iter().map(pick).collect()
}

#[test]
fn built_in_teams_have_the_names_prefixes_and_headers_of_their_tables() {
    assert_eq!(
        Team::builtin_names(),
        ["testing", "lifecycle", "planex", "generic"]
    );
    for (name, prefix, slug_len, header) in [
        (
            "testing",
            "tst",
            40,
            "id,title,description,role,layer,coverage_target,deps,context_from,exec_mode,wave,status,findings,pass_rate,coverage_achieved,test_files,error",
        ),
        (
            "lifecycle",
            "tlv4",
            40,
            "id,title,description,role,pipeline_phase,deps,context_from,exec_mode,wave,status,findings,quality_score,supervision_verdict,error",
        ),
        (
            "planex",
            "planex",
            30,
            "id,title,description,role,issue_ids,input_type,raw_input,exec_mode,execution_method,deps,context_from,wave,status,findings,artifact_path,error",
        ),
        (
            "generic",
            "run",
            40,
            "id,title,description,role,deps,context_from,exec_mode,wave,status,findings,error",
        ),
    ] {
        let team = builtin(name);
        assert_eq!(Team::builtin(name).as_ref(), Some(&team));
        assert_eq!(
            (team.name.as_str(), team.prefix.as_str(), team.slug_len),
            (name, prefix, slug_len)
        );
        assert_eq!(team.header().join(","), header);
    }
    assert_eq!(Team::builtin("nobody"), None);
    assert_eq!(Team::builtin_text("nobody"), None);
}

#[test]
fn pipelines_have_the_waves_of_the_specification() {
    for (team, pipeline, wanted) in [
        ("testing", "targeted", "STRATEGY-001 | TESTGEN-001 | TESTRUN-001"),
        (
            "testing",
            "standard",
            "STRATEGY-001 | TESTGEN-001 | TESTRUN-001 | TESTGEN-002 | TESTRUN-002 | TESTANA-001",
        ),
        (
            "testing",
            "comprehensive",
            "STRATEGY-001 | TESTGEN-001 TESTGEN-002 | TESTRUN-001 TESTRUN-002 | TESTGEN-003 | TESTRUN-003 | TESTANA-001",
        ),
        (
            "lifecycle",
            "spec-only",
            "RESEARCH-001 | DRAFT-001 | DRAFT-002 | CHECKPOINT-001 | DRAFT-003 | DRAFT-004 | CHECKPOINT-002 | QUALITY-001",
        ),
        (
            "lifecycle",
            "impl-only",
            "PLAN-001 | CHECKPOINT-003 | IMPL-001 | TEST-001 REVIEW-001",
        ),
        (
            "lifecycle",
            "full-lifecycle",
            "RESEARCH-001 | DRAFT-001 | DRAFT-002 | CHECKPOINT-001 | DRAFT-003 | DRAFT-004 | CHECKPOINT-002 | QUALITY-001 | PLAN-001 | CHECKPOINT-003 | IMPL-001 | TEST-001 REVIEW-001",
        ),
        ("planex", "plan-exec", "PLAN-001 | EXEC-001"),
    ] {
        assert_eq!(
            waves(builtin(team).pipeline(pipeline).unwrap()),
            wanted,
            "{team} {pipeline}"
        );
    }
    for (team, wanted) in [
        (
            "code-review",
            "SCAN-001 | REV-001 REV-002 REV-003 REV-004 | JUDGE-001 | FIX-001",
        ),
        (
            "tech-debt",
            "ASSESS-001 | PLAN-001 | APPROVE-001 | FIX-001 | VALIDATE-001",
        ),
        (
            "research",
            "EXPLORE-001 EXPLORE-002 EXPLORE-003 | DISCUSS-001 | SYNTH-001",
        ),
    ] {
        assert_eq!(waves(&example(team).pipelines[0]), wanted, "{team}");
    }
}

#[test]
fn rows_of_the_testing_team() {
    let columns = [
        "id",
        "role",
        "layer",
        "coverage_target",
        "deps",
        "context_from",
        "exec_mode",
        "wave",
        "status",
    ];
    assert_eq!(
        rows(&builtin("testing"), "comprehensive", &columns),
        [
            "STRATEGY-001,strategist,,,,,csv-wave,,pending",
            "TESTGEN-001,generator,L1,80,STRATEGY-001,STRATEGY-001,csv-wave,,pending",
            "TESTGEN-002,generator,L2,60,STRATEGY-001,STRATEGY-001,csv-wave,,pending",
            "TESTRUN-001,executor,L1,80,TESTGEN-001,TESTGEN-001,interactive,,pending",
            "TESTRUN-002,executor,L2,60,TESTGEN-002,TESTGEN-002,interactive,,pending",
            "TESTGEN-003,generator,L3,40,TESTRUN-001;TESTRUN-002,TESTRUN-001;TESTRUN-002,csv-wave,,pending",
            "TESTRUN-003,executor,L3,40,TESTGEN-003,TESTGEN-003,interactive,,pending",
            "TESTANA-001,analyst,,,TESTRUN-003,TESTRUN-001;TESTRUN-002;TESTRUN-003,csv-wave,,pending",
        ]
    );
    assert_eq!(
        rows(&builtin("testing"), "standard", &["id", "deps", "context_from"])[3..],
        [
            "TESTGEN-002,TESTRUN-001,TESTRUN-001",
            "TESTRUN-002,TESTGEN-002,TESTGEN-002",
            "TESTANA-001,TESTRUN-002,TESTRUN-001;TESTRUN-002",
        ]
    );
}

#[test]
fn rows_of_the_lifecycle_team() {
    let columns = [
        "id",
        "role",
        "pipeline_phase",
        "deps",
        "context_from",
        "exec_mode",
    ];
    assert_eq!(
        rows(&builtin("lifecycle"), "full-lifecycle", &columns),
        [
            "RESEARCH-001,analyst,research,,,csv-wave",
            "DRAFT-001,writer,product-brief,RESEARCH-001,RESEARCH-001,csv-wave",
            "DRAFT-002,writer,requirements,DRAFT-001,DRAFT-001,csv-wave",
            "CHECKPOINT-001,supervisor,checkpoint,DRAFT-002,DRAFT-001;DRAFT-002,interactive",
            "DRAFT-003,writer,architecture,CHECKPOINT-001,DRAFT-002;CHECKPOINT-001,csv-wave",
            "DRAFT-004,writer,epics,DRAFT-003,DRAFT-003,csv-wave",
            "CHECKPOINT-002,supervisor,checkpoint,DRAFT-004,DRAFT-001;DRAFT-002;DRAFT-003;DRAFT-004,interactive",
            "QUALITY-001,reviewer,readiness,CHECKPOINT-002,DRAFT-001;DRAFT-002;DRAFT-003;DRAFT-004,csv-wave",
            "PLAN-001,planner,planning,QUALITY-001,QUALITY-001,csv-wave",
            "CHECKPOINT-003,supervisor,checkpoint,PLAN-001,PLAN-001,interactive",
            "IMPL-001,executor,implementation,CHECKPOINT-003,PLAN-001,csv-wave",
            "TEST-001,tester,validation,IMPL-001,IMPL-001,csv-wave",
            "REVIEW-001,reviewer,review,IMPL-001,IMPL-001,csv-wave",
        ]
    );
    assert_eq!(
        rows(&builtin("lifecycle"), "impl-only", &columns)[0],
        "PLAN-001,planner,planning,,,csv-wave"
    );
}

#[test]
fn ids_lead_to_their_roles() {
    for (team, id, role) in [
        ("testing", "TESTGEN-001", Some("generator")),
        ("testing", "TESTANA-001", Some("analyst")),
        ("testing", "TESTGENERAL-1", None),
        ("lifecycle", "QUALITY-001", Some("reviewer")),
        ("lifecycle", "REVIEW-001", Some("reviewer")),
        ("lifecycle", "DESIGN-001", Some("planner")),
        ("planex", "EXEC-007", Some("executor")),
        ("planex", "EXEC", None),
    ] {
        let team = builtin(team);
        assert_eq!(team.role_for_prefix(id).map(|r| r.name.as_str()), role, "{id}");
    }
}

#[test]
fn discoveries_are_keyed_as_specified() {
    for (team, keys) in [
        (
            "testing",
            "framework_detected:framework test_generated:file defect_found:file+line coverage_gap:file convention_found:pattern fix_applied:test_file+fix_type",
        ),
        (
            "lifecycle",
            "research:dimension spec_artifact:doc_type exploration:angle plan_task:task_id implementation:task_id test_result:framework review_finding:file+line+dimension checkpoint:checkpoint_id quality_gate:gate_id",
        ),
        (
            "planex",
            "solution_designed:issue_id conflict_warning:issue_ids pattern_found:pattern+location impl_result:issue_id test_failure:issue_id",
        ),
    ] {
        let team = builtin(team);
        let found: Vec<String> = team
            .discoveries
            .iter()
            .map(|d| format!("{}:{}", d.name, d.key.join("+")))
            .collect();
        assert_eq!(found.join(" "), keys);
    }
    let team = builtin("testing");
    let defect = team.discovery("defect_found").unwrap();
    let (a, b) = (
        serde_json::json!({"file": "x", "line": 1}),
        serde_json::json!({"line": 1, "file": "x", "pattern": "p"}),
    );
    assert_eq!(defect.key_of(&a), defect.key_of(&b));
    assert_ne!(
        defect.key_of(&a),
        defect.key_of(&serde_json::json!({"file": "x", "line": 2}))
    );
}

#[test]
fn limits_of_roles_stand_over_those_of_the_team() {
    let seconds = |team: &str, role: &str| {
        let limits = builtin(team).limits_for(role);
        [limits.one_shot, limits.interactive, limits.interactive_grace].map(|d| d.as_secs())
    };
    assert_eq!(seconds("testing", "executor"), [900, 900, 120]);
    assert_eq!(seconds("lifecycle", "supervisor"), [900, 300, 120]);
    assert_eq!(seconds("lifecycle", "writer"), [900, 900, 120]);
    assert_eq!(seconds("planex", "planner"), [1200, 900, 120]);
    let limits = builtin("generic").limits;
    assert_eq!((limits.max_repairs, limits.log_bytes), (2, 10_000_000));
}

#[test]
fn a_writer_owes_the_document_of_its_phase_only() {
    let team = builtin("lifecycle");
    let owed = |role: &str, phase: &'static str| -> Vec<String> {
        team.role(role)
            .unwrap()
            .owes_for(|_| phase)
            .map(|owed| owed.path.clone())
            .collect()
    };
    assert_eq!(owed("writer", "product-brief"), ["spec/product-brief.md"]);
    assert_eq!(owed("writer", "epics"), ["spec/epics.md"]);
    assert_eq!(owed("reviewer", "review"), ["artifacts/review-report.md"]);
    assert_eq!(
        owed("planner", "planning"),
        ["plan/plan.json", "plan/TASK-*.json"]
    );
}

#[test]
fn the_request_stands_in_the_descriptions() {
    let pipeline = builtin("lifecycle").pipelines[0].for_request("add {login}");
    assert!(pipeline.tasks[0].description.ends_with("Request: add {login}"));
    let none = builtin("lifecycle").pipelines[0].for_request(" ");
    assert!(!none.tasks[0].description.contains("{request}"));
}

#[test]
fn the_size_of_a_change_chooses_the_testing_pipeline() {
    let team = builtin("testing");
    for (files, modules, wanted) in [
        (0, 0, "targeted"),
        (3, 1, "targeted"),
        (3, 2, "standard"),
        (4, 1, "standard"),
        (10, 3, "standard"),
        (10, 4, "comprehensive"),
        (11, 1, "comprehensive"),
    ] {
        let choice = team.choose("", Some(ChangeSize { files, modules })).unwrap();
        assert_eq!(choice.pipeline, wanted, "{files} files in {modules} modules");
    }
    let choice = team
        .choose("", Some(ChangeSize { files: 2, modules: 1 }))
        .unwrap();
    assert_eq!(choice.reason, "2 files in 1 module (limit: 3 files in 1 module)");
    assert_eq!(team.choose("", None).unwrap().pipeline, "comprehensive");
}

#[test]
fn words_of_the_request_choose_the_lifecycle_pipeline() {
    let team = builtin("lifecycle");
    for (request, wanted) in [
        ("Write a spec for the login", "spec-only"),
        ("Design the API", "spec-only"),
        ("document our exports", "spec-only"),
        ("Implement OAuth2 login", "impl-only"),
        ("fix the special case", "impl-only"),
        ("Build it end-to-end", "full-lifecycle"),
        ("full-lifecycle for search", "full-lifecycle"),
        ("search", "full-lifecycle"),
    ] {
        assert_eq!(team.choose(request, None).unwrap().pipeline, wanted, "{request}");
    }
    let choice = team
        .choose("Implement auth across services with a database", None)
        .unwrap();
    assert_eq!(
        choice.reason,
        "the request says `implement`; complexity Medium (4 points)"
    );
    assert_eq!(builtin("generic").choose("x", None), None);
}

#[test]
fn planex_repeats_its_pipeline_for_every_issue() {
    let team = builtin("planex");
    let issue = |id: &str, depends_on: &[&str]| PipelineIssue {
        id: id.into(),
        title: "Title {raw_input}".into(),
        input_type: "issues".into(),
        raw_input: id.into(),
        execution_method: "gemini".into(),
        depends_on: depends_on.iter().map(ToString::to_string).collect(),
        ..PipelineIssue::default()
    };
    let issues = [
        issue("ISS-20260308-120000", &[]),
        issue("ISS-20260308-120001", &["ISS-20260308-120000"]),
    ];
    let mut team_of_two = team.clone();
    team_of_two.pipelines[0] = team.pipelines[0].for_issues(&issues, "EXEC");
    let columns = [
        "id",
        "title",
        "issue_ids",
        "input_type",
        "raw_input",
        "execution_method",
        "deps",
        "context_from",
    ];
    assert_eq!(
        rows(&team_of_two, "plan-exec", &columns),
        [
            "PLAN-001,Plan ISS-20260308-120000,ISS-20260308-120000,issues,ISS-20260308-120000,,,",
            "PLAN-002,Plan ISS-20260308-120001,ISS-20260308-120001,issues,ISS-20260308-120001,,,",
            "EXEC-001,Implement Title {raw_input},ISS-20260308-120000,,,gemini,PLAN-001,PLAN-001",
            "EXEC-002,Implement Title {raw_input},ISS-20260308-120001,,,gemini,PLAN-002;EXEC-001,PLAN-002",
        ]
    );
    // What is filled in is not filled in again.
    assert!(
        team_of_two.pipelines[0].tasks[0]
            .description
            .contains("Title {raw_input}")
    );
}

#[test]
fn reports_need_only_id_and_status_and_take_numbers_as_text() {
    let schema = builtin("testing").report_schema();
    let valid = |report: serde_json::Value| jsonschema::is_valid(&schema, &report);
    assert!(valid(serde_json::json!({"id": "A", "status": "completed"})));
    assert!(valid(
        serde_json::json!({"id": "A", "status": "failed", "pass_rate": 0.9, "coverage_achieved": "82", "extra": []})
    ));
    assert!(!valid(serde_json::json!({"id": "A"})));
    assert!(!valid(serde_json::json!({"id": "A", "status": "pending"})));
    assert!(!valid(
        serde_json::json!({"id": "A", "status": "completed", "pass_rate": [1]})
    ));
}

#[test]
fn every_instruction_speaks_of_columns_its_team_has() {
    for team in Team::builtin_names()
        .iter()
        .map(|n| builtin(n))
        .chain(EXAMPLES.map(|(n, _)| example(n)))
    {
        for role in &team.roles {
            for part in role.instruction.split('{').skip(1) {
                let name = part.split('}').next().unwrap();
                assert!(
                    team.column(name).is_some(),
                    "{}: {} uses {{{name}}}",
                    team.name,
                    role.name
                );
            }
            assert!(
                role.instruction.len() > 800,
                "{}: {} says too little",
                team.name,
                role.name
            );
        }
    }
}

#[test]
fn a_team_survives_being_written_and_read_again() {
    for name in Team::builtin_names() {
        let team = builtin(name);
        let text = toml::to_string(&team).unwrap();
        assert_eq!(parse(name, &text), team, "{name}");
    }
}

#[test]
fn the_smallest_team_of_the_guide_parses() {
    let guide = include_str!("../../../../docs/guides/write-a-team.md");
    let text = guide
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let team = parse("docs/guides/write-a-team.md", text);
    assert_eq!(team.choose("spring", None).unwrap().pipeline, "one");
}
