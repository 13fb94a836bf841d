//! Puts a question of a run to the person who uses the client, by elicitation.

use rmcp::RoleServer;
use rmcp::model::{ElicitRequestParams, ElicitationAction, ProtocolVersion};
use rmcp::service::{ElicitationMode, RequestContext};
use serde_json::json;
use wavecrew_run::questions::{OpenQuestion, WrittenAnswer, answer};
use wavecrew_session::SessionDir;

/// Whether the client can put a question to a person.
pub(super) fn can_elicit(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    // In later versions a server cannot ask; there the question is in `team_status`.
    version.is_some_and(|version| version < ProtocolVersion::V_2026_07_28)
        && context
            .peer
            .supported_elicitation_modes()
            .contains(&ElicitationMode::Form)
}

/// Puts the question and passes the answer on. A person who declines gives the default answer.
pub(super) async fn elicit_answer(
    dir: &SessionDir,
    asked: &OpenQuestion,
    context: &RequestContext<RoleServer>,
) -> Result<(), String> {
    let answer_schema = if asked.open {
        json!({"type": "string", "description": asked.options.join(", ")})
    } else {
        json!({"type": "string", "enum": asked.options})
    };
    let schema = json!({"type": "object", "properties": {"answer": answer_schema}, "required": ["answer"]});
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: asked.question.clone(),
        requested_schema: serde_json::from_value(schema).map_err(|error| error.to_string())?,
    };
    let result = context.peer.create_elicitation(params).await;
    let accepted = result
        .ok()
        .filter(|result| result.action == ElicitationAction::Accept);
    let word = accepted.and_then(|result| Some(result.content?.get("answer")?.as_str()?.to_owned()));
    let word = word.filter(|word| asked.accepts(word));
    let word = word.as_deref().unwrap_or(asked.default_answer());
    answer(dir, asked, WrittenAnswer::of_client(word)).map_err(|error| error.to_string())
}
