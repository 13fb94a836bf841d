//! JSON Schemas of tool arguments, derived from the argument types. Doc comments of fields become descriptions.

use rmcp::model::{JsonObject, Tool};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use std::sync::Arc;

/// A tool whose arguments are `T`.
pub(crate) fn tool<T: JsonSchema>(name: &'static str, about: impl Into<String>) -> Tool {
    Tool::new(name, about.into(), Arc::new(input_schema::<T>()))
}

/// The schema of the arguments `T`, in the plain form that every client understands: without `null`, defaults, formats and
/// references.
pub(crate) fn input_schema<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    let Value::Object(mut schema) = schema else {
        unreachable!("arguments are objects")
    };
    schema.remove("description");
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

fn simplify(schema: &mut Value) {
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
    let Value::Object(fields) = schema else { return };
    for name in ["$schema", "title", "format", "default", "additionalProperties"] {
        fields.remove(name);
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if types.len() == 1
            && let Some(only) = types.pop()
        {
            fields["type"] = only;
        }
    }
    if let Some(Value::String(text)) = fields.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    for schema in fields
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flat_map(|properties| properties.values_mut())
    {
        simplify(schema);
    }
    if let Some(items) = fields.get_mut("items") {
        simplify(items);
    }
}

/// For fields that may hold any object.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

/// For fields of the type [`Isolation`](wavecrew_run::worktree::Isolation).
pub(crate) fn isolation(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "enum": ["none", "worktree"],
        "description": "`worktree` gives each worker its own git worktree, which is kept if it has changes. Default: `none`.",
    })
}
