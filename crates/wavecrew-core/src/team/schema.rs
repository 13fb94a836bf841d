//! JSON Schemas: of the team format, for editors and for the parser's own check of shapes, and of a worker's report.

use super::Team;
use serde_json::{Map, Value, json};

/// JSON Schema of a team file.
pub fn team_schema() -> Value {
    let mut schema = schemars::schema_for!(Team).to_value();
    schema["title"] = "Team file of wavecrew".into();
    schema
}

/// Only `id` and `status` are required, and numbers pass for text: agents differ in what they quote.
pub(super) fn report_schema(team: &Team) -> Value {
    let mut schema = envelope_schema(team);
    if let Some(result) = &team.result_schema {
        schema["properties"]["result"] = result.0.clone();
        schema["if"] = json!({ "properties": { "status": { "const": "completed" } } });
        schema["then"] = json!({ "required": ["result"] });
    }
    schema
}

/// The report without a look into its `result`, which has a schema of its own and is checked by that.
pub(super) fn envelope_schema(team: &Team) -> Value {
    let mut properties = Map::new();
    properties.insert("id".into(), json!({ "type": "string" }));
    properties.insert(
        "status".into(),
        json!({ "type": "string", "enum": ["completed", "failed"] }),
    );
    properties.insert("findings".into(), json!({ "type": "string" }));
    let is_result = |name: &str| team.result_schema.is_some() && name == "result";
    for column in team.output_columns().filter(|column| !is_result(&column.name)) {
        let mut schema = json!({ "type": ["string", "number"] });
        if !column.about.is_empty() {
            schema["description"] = column.about.as_str().into();
        }
        properties.insert(column.name.clone(), schema);
    }
    properties.insert("error".into(), json!({ "type": "string" }));
    json!({
        "type": "object",
        "properties": properties,
        "required": ["id", "status"],
        "additionalProperties": true,
    })
}
