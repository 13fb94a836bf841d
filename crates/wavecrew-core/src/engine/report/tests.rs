//! Reports in all shapes that agents give them.

use super::*;

fn reader() -> ReportReader {
    ReportReader::new(&Team::builtin("testing").expect("built in"))
}

#[test]
fn only_id_and_status_are_required() {
    let report = reader().read("A", r#"{"id":"A","status":"completed"}"#).unwrap();
    assert_eq!(report.result.status, Status::Completed);
    assert_eq!(report.result.findings, "");
}

#[test]
fn numbers_and_strings_are_both_accepted() {
    let body = r#"{"id":"A","status":"completed","pass_rate":0.95,"coverage_achieved":"82"}"#;
    let report = reader().read("A", body).unwrap();
    assert_eq!(
        report.result.outputs,
        [
            ("pass_rate".into(), "0.95".into()),
            ("coverage_achieved".into(), "82".into())
        ]
    );
}

#[test]
fn what_is_wrong_is_said() {
    for (body, why) in [
        ("pass", "not a JSON object"),
        ("[1]", "not a JSON object"),
        ("All is done.", "is prose and not a JSON object"),
        ("{half", "is not a JSON object: "),
        (" \n", "the report is empty"),
        ("{}", "an empty object"),
        (r#"{"id":"B","status":"completed"}"#, "is for task `B`"),
        (r#"{"id":"A"}"#, "status"),
        (r#"{"id":"A","status":"done"}"#, "at /status"),
    ] {
        let error = reader().read("A", body).unwrap_err();
        assert!(error.contains(why), "{body}: {error}");
    }
    assert!(
        reader()
            .read("A", &" ".repeat(MAX_REPORT_BYTES + 1))
            .unwrap_err()
            .contains("bytes")
    );
}

#[test]
fn the_shape_with_an_item_is_a_report_too() {
    let read = |body: &str| reader().read("A", body);
    let report =
        read(r#"{"job_id":"J","item_id":"A","result":{"pass_rate":1,"findings":"f"},"stop":false}"#).unwrap();
    assert_eq!(
        (report.result.status, report.result.findings.as_str()),
        (Status::Completed, "f")
    );
    assert_eq!(report.result.outputs, [("pass_rate".into(), "1".into())]);
    let failed = read(r#"{"item_id":"A","result":{"status":"failed","error":"e"}}"#).unwrap();
    assert_eq!(
        (failed.result.status, failed.result.error.as_str()),
        (Status::Failed, "e")
    );
    assert!(
        read(r#"{"item_id":"B","result":{}}"#)
            .unwrap_err()
            .contains("`B`")
    );
}

#[test]
fn the_last_object_is_found_however_many_it_holds() {
    let many = format!(r#"{{"id":"A","list":[{}]}}"#, vec![r#"{"n":{}}"#; 2000].join(","));
    let value: Value = serde_json::from_str(&many).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    for object in [many.as_str(), &pretty, r#"{"id":"A","note":"{ \"x\": {} }"}"#] {
        for before in ["", "{\n", "a log\n{\"n\":1}\n", "```json\n"] {
            for after in ["", "\n", "\n```\n"] {
                let text = format!("{before}{object}{after}");
                assert_eq!(final_object(&text), Some(object), "{before:?} {after:?}");
            }
        }
    }
    assert_eq!(final_object("said in a line: {\"a\":1}"), Some("{\"a\":1}"));
    assert_eq!(final_object("{\"a\":1} and more"), None);
}

fn with_results() -> ReportReader {
    let mut team = Team::builtin("generic").expect("built in");
    let column = |name: &str| crate::team::Column {
        name: name.to_owned(),
        kind: crate::team::ColumnKind::Output,
        ..team.columns[0].clone()
    };
    team.columns.extend(["result", "stop"].map(column));
    let schema = r##"{"type":"object","properties":{"n":{"$ref":"#/$defs/count"}},"required":["n"],
        "$defs":{"count":{"type":"integer"}}}"##;
    team.result_schema = Some(schema.to_owned().try_into().unwrap());
    assert!(team.report_schema()["properties"]["result"]["required"].is_array());
    ReportReader::new(&team)
}

#[test]
fn a_result_has_to_follow_its_schema_in_whatever_shape_it_comes() {
    let reader = with_results();
    let result = ("result".to_owned(), r#"{"n":3}"#.to_owned());
    for body in [
        r#"{"id":"A","status":"completed","result":{"n":3}}"#,
        r#"{"job_id":"J","item_id":"A","result":{"n":3}}"#,
        r#"{"n":3}"#,
    ] {
        assert_eq!(
            reader.read("A", body).unwrap().result.outputs,
            std::slice::from_ref(&result),
            "{body}"
        );
    }
    let stopping = reader
        .read("A", r#"{"item_id":"A","result":{"n":3},"stop":true}"#)
        .unwrap();
    assert_eq!(stopping.result.outputs, [result, ("stop".into(), "true".into())]);
    for (body, why) in [
        (r#"{"item_id":"A","result":{"n":"3"}}"#, "at /result/n: "),
        (r#"{"item_id":"A"}"#, "\"result\" is a required property"),
        (r#"{"m":3}"#, "at /result: "),
        (r#"{"item_id":"A","result":[3]}"#, "at /result: "),
    ] {
        let error = reader.read("A", body).unwrap_err();
        assert!(error.contains(why), "{body}: {error}");
    }
    let failed = reader
        .read("A", r#"{"id":"A","status":"failed","error":"e"}"#)
        .unwrap();
    assert_eq!(failed.result.status, Status::Failed);
}

#[test]
fn the_object_that_ends_the_output_is_found() {
    for (text, object) in [
        (r#"{"id":"A"}"#, Some(r#"{"id":"A"}"#)),
        (
            "thinking {hard}\n{\"a\": {\"b\": \"}\"}}\n\n",
            Some("{\"a\": {\"b\": \"}\"}}"),
        ),
        ("done:\n```json\n{\"id\": 1}\n```\n", Some("{\"id\": 1}")),
        ("{\"a\": 1} and more", None),
        ("no json }", None),
        ("", None),
    ] {
        assert_eq!(final_object(text), object, "{text}");
    }
    assert_eq!(final_object(&format!("{}x}}", "{".repeat(100_000))), None);
}

#[test]
fn long_findings_are_cut_at_500_characters_and_kept_whole() {
    let body = serde_json::json!({"id":"A","status":"completed","findings":"ü".repeat(5000)}).to_string();
    let report = reader().read("A", &body).unwrap();
    assert_eq!(report.result.findings.chars().count(), 500);
    assert!(report.result.findings.ends_with('…'));
    assert_eq!(report.whole_findings.unwrap().chars().count(), 5000);
    let exact = serde_json::json!({"id":"A","status":"completed","findings":"x".repeat(500)}).to_string();
    assert_eq!(reader().read("A", &exact).unwrap().whole_findings, None);
}
