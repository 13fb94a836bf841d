//! The shape of tools and of their answers.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject, Tool};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// A tool; `schema` is a JSON Schema of an object.
pub(crate) fn tool(name: &'static str, about: impl Into<String>, schema: Value) -> Tool {
    let Value::Object(schema) = schema else {
        unreachable!("schemas of tools are objects")
    };
    Tool::new(name, about.into(), Arc::new(schema))
}

/// An answer that programs read.
pub(crate) fn structured(value: Value) -> CallToolResponse {
    CallToolResult::structured(value).into()
}

/// The tool was called in the right way and could not do it; the model sees why.
pub(crate) fn failure(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(text.into())]).into()
}

/// Arguments in their type; what is wrong with them is said to the model, which can mend it.
pub(crate) fn arguments<T: DeserializeOwned>(given: Option<JsonObject>) -> Result<T, String> {
    serde_json::from_value(Value::Object(given.unwrap_or_default())).map_err(|error| error.to_string())
}

pub(crate) fn no_such_tool(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no tool `{name}`"), None)
}

pub(crate) fn implementation() -> Implementation {
    Implementation::new("wavecrew", env!("CARGO_PKG_VERSION"))
}
