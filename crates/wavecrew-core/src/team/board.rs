//! The shared boards of a team: discovery types and coverage targets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A kind of discovery. Of entries with the same key the last one counts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscoveryType {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Fields of `data` that make two entries the same.
    pub key: Vec<String>,
    /// Fields of `data`; `name[]` is a list, `name{}` a table.
    pub fields: Vec<Field>,
}

impl DiscoveryType {
    /// The key of an entry of this type, comparable as text; `None` if the entry has no field of the key.
    pub fn key_of(&self, data: &Value) -> Option<String> {
        let field = |name: &String| name.split('.').try_fold(data, |value, step| value.get(step));
        let parts: Vec<Option<&Value>> = self.key.iter().map(field).collect();
        if !parts.is_empty() && parts.iter().all(|part| part.is_none_or(Value::is_null)) {
            return None;
        }
        // As JSON, so that different keys never look the same.
        Some(serde_json::json!([self.name, parts]).to_string())
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Field {
    pub name: String,
    pub shape: FieldShape,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldShape {
    One,
    List,
    Table,
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        if let Some(name) = text.strip_suffix("[]") {
            Self {
                name: name.to_owned(),
                shape: FieldShape::List,
            }
        } else if let Some(name) = text.strip_suffix("{}") {
            Self {
                name: name.to_owned(),
                shape: FieldShape::Table,
            }
        } else {
            Self {
                name: text,
                shape: FieldShape::One,
            }
        }
    }
}

impl From<Field> for String {
    fn from(field: Field) -> Self {
        let suffix = match field.shape {
            FieldShape::One => "",
            FieldShape::List => "[]",
            FieldShape::Table => "{}",
        };
        field.name + suffix
    }
}

impl JsonSchema for Field {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Field".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// A coverage target of a test layer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Target")]
pub struct CoverageTarget {
    /// Value of the layer column.
    pub name: String,
    pub title: String,
    /// Percent of the lines in scope.
    pub percent: u32,
    /// Folder of the session that receives the layer's tests.
    pub folder: String,
}
