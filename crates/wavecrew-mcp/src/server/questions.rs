//! A question of a run, put to the person behind the client, if the client can do that.

use rmcp::RoleServer;
use rmcp::model::{ElicitRequestParams, ElicitationAction, ProtocolVersion};
use rmcp::service::{ElicitationMode, RequestContext};
use serde_json::json;
use wavecrew_run::questions::{Asked, answer};
use wavecrew_session::SessionDir;

/// Whether the client can put a question to a person.
pub(super) fn can_be_put(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    // Later versions let no server ask of its own accord; there the question is in `team_status`.
    version.is_some_and(|version| version < ProtocolVersion::V_2026_07_28)
        && context
            .peer
            .supported_elicitation_modes()
            .contains(&ElicitationMode::Form)
}

/// Puts the question and hands the answer on. For whoever declines to answer, the cautious one is given.
pub(super) async fn put(
    dir: &SessionDir,
    asked: &Asked,
    context: &RequestContext<RoleServer>,
) -> Result<(), String> {
    let words = if asked.open {
        json!({"type": "string", "description": asked.options.join(", ")})
    } else {
        json!({"type": "string", "enum": asked.options})
    };
    let schema = json!({"type": "object", "properties": {"answer": words}, "required": ["answer"]});
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: asked.question.clone(),
        requested_schema: serde_json::from_value(schema).map_err(|error| error.to_string())?,
    };
    let result = context.peer.create_elicitation(params).await;
    let said = result
        .ok()
        .filter(|result| result.action == ElicitationAction::Accept);
    let word = said.and_then(|result| Some(result.content?.get("answer")?.as_str()?.to_owned()));
    let word = word.filter(|word| asked.takes(word));
    answer(dir, asked, word.as_deref().unwrap_or(asked.cautious())).map_err(|error| error.to_string())
}
