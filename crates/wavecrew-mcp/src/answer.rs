//! Reads arguments of tools and builds their answers.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An answer that programs read.
pub(crate) fn structured(value: Value) -> CallToolResponse {
    CallToolResult::structured(value).into()
}

/// The call is well-formed, but the tool failed; the model sees why.
pub(crate) fn failure(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(text.into())]).into()
}

/// The arguments as their type. The model sees what is wrong with them and can call again.
pub(crate) fn arguments<T: DeserializeOwned>(given: Option<JsonObject>) -> Result<T, String> {
    serde_json::from_value(Value::Object(given.unwrap_or_default())).map_err(|error| error.to_string())
}

pub(crate) fn no_such_tool(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no tool `{name}`"), None)
}

pub(crate) fn implementation() -> Implementation {
    Implementation::new("wavecrew", env!("CARGO_PKG_VERSION"))
}
