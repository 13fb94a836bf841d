//! Actions of a person in the browser: forms that become calls of [`Person`](crate::Person).

use super::desk::Reply;
use super::guard::page;
use super::{App, redirect, unreadable};
use crate::page::message::problem;
use crate::shot::encode;
use crate::{Act, Refusal};
use axum::extract::{Form, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use wavecrew_session::{SessionDir, SessionError};

type Fields = Form<std::collections::HashMap<String, String>>;

pub async fn answer_prompt(
    State(app): State<Arc<App>>,
    Path(prompt): Path<u64>,
    Form(fields): Fields,
) -> Response {
    let choice = fields.get("choice").and_then(|choice| choice.parse().ok());
    let reply = match choice {
        Some(choice) => Reply::Choice(choice),
        None => Reply::Text(fields.get("text").cloned().unwrap_or_default()),
    };
    if app.desk.answer(prompt, reply) {
        return redirect("/current");
    }
    answered_already()
}

fn answered_already() -> Response {
    let message = "The question already has an answer, or is no longer open.";
    page(
        StatusCode::CONFLICT,
        &problem("Not counted", message, "look at the run to see what was decided"),
    )
}

pub async fn act_on_run(
    State(app): State<Arc<App>>,
    Path((id, action)): Path<(String, String)>,
    Form(fields): Fields,
) -> Response {
    let act = match action.as_str() {
        "pause" => Act::Pause,
        "resume" => Act::Resume,
        "cancel" => Act::Cancel,
        "retry" => Act::Retry(None),
        "apply" => Act::Apply,
        "archive" => Act::Archive,
        "answer" => {
            let question = fields.get("question").and_then(|number| number.parse().ok());
            let answer = fields.get("answer").or_else(|| fields.get("text")).cloned();
            let (Some(question), Some(answer)) = (question, answer) else {
                return answered_already();
            };
            let remark = fields.get("remark").map(|remark| remark.trim().to_owned());
            Act::Answer {
                question,
                answer,
                remark: remark.filter(|remark| !remark.is_empty()),
            }
        }
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let target = format!("/s/{}", encode(&id));
    perform(app, id, act, target).await
}

pub async fn act_on_task(
    State(app): State<Arc<App>>,
    Path((id, task, action)): Path<(String, String, String)>,
    Form(fields): Fields,
) -> Response {
    let target = format!("/s/{}/t/{}", encode(&id), encode(&task));
    let act = match action.as_str() {
        "cancel" => Act::CancelTask(task),
        "retry" => Act::Retry(Some(task)),
        "tell" => Act::SendMessage {
            task,
            text: fields.get("text").cloned().unwrap_or_default(),
        },
        "edit" => Act::EditRow {
            task,
            cells: fields.into_iter().collect(),
        },
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    perform(app, id, act, target).await
}

async fn perform(app: Arc<App>, id: String, act: Act, target: String) -> Response {
    let speaks = act == Act::Apply;
    let done = tokio::task::spawn_blocking(move || {
        let dir = SessionDir::open(app.followers.project(), &id)?;
        Ok::<_, SessionError>(app.person.act(&dir, act))
    });
    match done.await {
        Ok(Ok(Ok(done))) if speaks => page(
            StatusCode::OK,
            &problem("Done", &done, "continue with the session"),
        ),
        Ok(Ok(Ok(_))) => redirect(&target),
        Ok(Ok(Err(Refusal { message, help }))) => {
            page(StatusCode::CONFLICT, &problem("Not done", &message, &help))
        }
        Ok(Err(error)) => unreadable(&error),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
