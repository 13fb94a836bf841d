//! HTTP around the dialects: the mode decides, the script answers, the counters count.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::fake_model::dialect::{Answer, Dialect, Event, Reply};
use crate::fake_model::mode::{Mode, Trouble};
use crate::fake_model::script::next_step;
use crate::fake_model::stats::Stats;

pub(crate) fn router(stats: Arc<Stats>) -> Router {
    // Prompts of agents with many tools are larger than the usual limit.
    Router::new()
        .fallback(answer)
        .layer(axum::extract::DefaultBodyLimit::disable())
        .with_state(stats)
}

async fn answer(
    State(counters): State<Arc<Stats>>,
    method: Method,
    uri: Uri,
    body: Bytes,
) -> Result<Response, Infallible> {
    let path = uri.path().trim_start_matches('/');
    if path == "_stats" {
        return Ok(document(StatusCode::OK, &json!(counters.all())));
    }
    let (element, rest) = path.split_once('/').unwrap_or((path, ""));
    let Some(mode) = Mode::parse(element) else {
        let text = format!("the first element of the path, `{element}`, names no mode");
        return Ok(document(
            StatusCode::NOT_FOUND,
            &json!({ "error": { "message": text } }),
        ));
    };
    let Some(dialect) = Dialect::of(&format!("/{rest}")).filter(|_| method == Method::POST) else {
        return Ok(document(StatusCode::OK, &aside(rest)));
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let conversation = dialect.conversation(rest, &body);
    let (nth, number) = counters.count(element, &conversation.model, &conversation.tools);
    let play = |reply: &Reply, cut: usize| {
        let answer = dialect.answer(&conversation.model, number, reply);
        if conversation.stream {
            streamed(&answer, cut)
        } else {
            whole(&answer, cut)
        }
    };
    let step = Reply::Step(next_step(&conversation));
    Ok(match mode {
        Mode::Failing(trouble) => failed(dialect, trouble),
        Mode::Flaky { failures, trouble } if nth <= failures => failed(dialect, trouble),
        Mode::Ok | Mode::Flaky { .. } => play(&step, 0),
        Mode::Quota => {
            let (status, body) = dialect.quota();
            document(code(status), &body)
        }
        Mode::Cut(events) => play(&step, events),
        Mode::Hang => std::future::pending().await,
        Mode::Slow(pause) => {
            tokio::time::sleep(pause).await;
            play(&step, 0)
        }
        Mode::Refuse => play(&Reply::Refusal, 0),
    })
}

/// What clients ask besides answers: the models there are, the size of a prompt, and things that no test looks at.
fn aside(path: &str) -> Value {
    if path.ends_with("models") {
        let model = json!({ "id": "fake-1", "object": "model", "owned_by": "test" });
        json!({ "object": "list", "data": [model], "models": [] })
    } else if path.ends_with("/count_tokens") {
        json!({ "input_tokens": 100 })
    } else if path.ends_with(":countTokens") {
        json!({ "totalTokens": 100 })
    } else {
        json!({})
    }
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).expect("modes hold statuses from 400 to 599")
}

fn failed(dialect: Dialect, trouble: Trouble) -> Response {
    let mut response = document(code(trouble.status), &dialect.error(trouble));
    if matches!(trouble.status, 429 | 503 | 529) {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    }
    response
}

fn document(status: StatusCode, body: &Value) -> Response {
    let mut response = respond("application/json", Body::from(body.to_string()));
    *response.status_mut() = status;
    response
}

fn respond(content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static(content_type),
    );
    response
}

fn whole(answer: &Answer, cut: usize) -> Response {
    let text = answer.document.to_string();
    match cut {
        0 => document(StatusCode::OK, &answer.document),
        _ => respond(
            "application/json",
            broken(vec![text[..text.len() / 2].to_owned()]),
        ),
    }
}

fn streamed(answer: &Answer, cut: usize) -> Response {
    let kept = answer.events.len().saturating_sub(cut);
    let mut frames: Vec<String> = answer.events[..kept].iter().map(frame).collect();
    if cut == 0 {
        frames.push(answer.tail.to_owned());
        return respond("text/event-stream", Body::from(frames.concat()));
    }
    respond("text/event-stream", broken(frames))
}

fn frame(event: &Event) -> String {
    let name = event
        .name
        .map(|name| format!("event: {name}\n"))
        .unwrap_or_default();
    format!("{name}data: {}\n\n", event.data)
}

/// A body that breaks off: the connection closes before the end that HTTP promised.
fn broken(frames: Vec<String>) -> Body {
    let end = stream::once(async {
        // What is ready is sent when the body has to wait; without a wait the break would swallow it all.
        tokio::task::yield_now().await;
        Err(io::Error::other("cut by the mode of the request"))
    });
    Body::from_stream(stream::iter(frames.into_iter().map(Ok)).chain(end))
}
