//! The service as a client sees it: plain HTTP/1.1, every dialect, every mode.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use wavecrew_test_support::fake_model::FakeModel;

struct Got {
    status: u16,
    head: String,
    body: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The data of every event, and whether each is announced by its type.
    fn events(&self) -> Vec<Value> {
        assert!(self.head.contains("text/event-stream"), "{}", self.head);
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|line| *line != "[DONE]")
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

fn connect(url: &str) -> TcpStream {
    TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap()
}

fn send(model: &FakeModel, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = connect(model.url());
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

fn post(model: &FakeModel, path: &str, body: &Value) -> Got {
    let mut text = String::new();
    send(model, "POST", path, &body.to_string())
        .read_to_string(&mut text)
        .unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head[9..12].parse().unwrap();
    Got {
        status,
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}

const SCRIPT: &str = "write a file\n@@tool write {\"path\":\"a\"}\n@@final it is written";

fn chat(stream: bool, messages: &Value) -> Value {
    json!({ "model": "m-1", "stream": stream, "messages": messages,
        "tools": [{ "type": "function", "function": { "name": "write" } }] })
}

#[test]
fn chat_completions() {
    let model = FakeModel::start().unwrap();
    let path = "/ok/v1/chat/completions";
    let user = json!({ "role": "user", "content": SCRIPT });
    let call = post(&model, path, &chat(false, &json!([user]))).json();
    assert_eq!(call["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(
        call["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"],
        "{\"path\":\"a\"}"
    );
    assert_eq!(call["usage"]["total_tokens"], 1050);

    let assistant = call["choices"][0]["message"].clone();
    let result = json!({ "role": "tool", "tool_call_id": "x", "content": "ok" });
    let got = post(&model, path, &chat(true, &json!([user, assistant, result])));
    let events = got.events();
    assert_eq!(events[0]["choices"][0]["delta"]["content"], "it is written");
    assert_eq!(events[1]["choices"][0]["finish_reason"], "stop");
    assert_eq!(events[2]["usage"]["prompt_tokens_details"]["cached_tokens"], 200);
    assert!(got.body.ends_with("data: [DONE]\n\n"));

    let stats = model.stats("ok");
    assert_eq!(
        (stats.requests, stats.model.as_str(), stats.tools),
        (2, "m-1", vec!["write".to_owned()])
    );
}

#[test]
fn responses() {
    let model = FakeModel::start().unwrap();
    let path = "/ok/v1/responses";
    let text = "@@tool mcp__a::b {\"c\":1}\n@@custom patch one\\ntwo\n@@final end";
    let user =
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] });
    let ask = |stream: bool, input: Value| {
        let body = json!({ "model": "m", "stream": stream, "input": input,
            "tools": [{ "type": "namespace", "name": "mcp__a", "tools": [{ "type": "function", "name": "b" }] }] });
        post(&model, path, &body)
    };
    let call = ask(true, json!([user])).events();
    let item = &call[2]["item"];
    assert_eq!(
        (&item["namespace"], &item["name"]),
        (&json!("mcp__a"), &json!("b"))
    );
    assert_eq!(call[3]["type"], "response.completed");
    assert_eq!(
        call[3]["response"]["usage"]["output_tokens_details"]["reasoning_tokens"],
        10
    );

    let result = json!({ "type": "function_call_output", "call_id": item["call_id"], "output": "ok" });
    let custom = ask(true, json!([user, item, result])).events();
    assert_eq!(custom[2]["item"]["input"], "one\ntwo");

    let done = json!({ "type": "custom_tool_call_output", "call_id": "x", "output": "ok" });
    let end = ask(false, json!([user, item, result, done])).json();
    assert_eq!(end["output"][0]["content"][0]["text"], "end");
    assert_eq!(model.stats("ok").tools, ["mcp__a::b"]);
}

#[test]
fn messages() {
    let model = FakeModel::start().unwrap();
    let ask = |mode: &str, stream: bool, messages: Value| {
        let body =
            json!({ "model": "m", "stream": stream, "messages": messages, "tools": [{ "name": "write" }] });
        post(&model, &format!("/{mode}/v1/messages?beta=true"), &body)
    };
    let user = json!({ "role": "user", "content": [{ "type": "text", "text": SCRIPT }] });
    let call = ask("ok", true, json!([user])).events();
    assert_eq!(call[1]["content_block"]["name"], "write");
    assert_eq!(call[2]["delta"]["partial_json"], "{\"path\":\"a\"}");
    assert_eq!(call[4]["usage"]["output_tokens"], 50);

    let assistant =
        json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "write" }] });
    let result = json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t" },
        { "type": "text", "text": "<system-reminder>be brief</system-reminder>" }] });
    let aside = json!({ "role": "system", "content": "# Environment" });
    let end = ask("ok", false, json!([user, aside, assistant, result])).json();
    assert_eq!(end["content"][0]["text"], "it is written");
    assert_eq!(end["stop_reason"], "end_turn");
    assert_eq!(
        ask("refuse", false, json!([user])).json()["stop_reason"],
        "refusal"
    );
    let broke = ask("quota", false, json!([user]));
    assert_eq!(broke.status, 400);
    assert!(broke.body.contains("credit balance"));
}

#[test]
fn gemini() {
    let model = FakeModel::start().unwrap();
    let ask = |call: &str, contents: Value| {
        let body =
            json!({ "contents": contents, "tools": [{ "functionDeclarations": [{ "name": "write" }] }] });
        post(&model, &format!("/ok/v1beta/models/g-1:{call}"), &body)
    };
    let user = json!({ "role": "user", "parts": [{ "text": SCRIPT }] });
    let call = &ask("streamGenerateContent?alt=sse", json!([user])).events()[0];
    assert_eq!(
        call["candidates"][0]["content"]["parts"][0]["functionCall"]["args"]["path"],
        "a"
    );

    let call = json!({ "role": "model", "parts": [{ "functionCall": { "name": "write" } }] });
    let result = json!({ "role": "user", "parts": [{ "functionResponse": { "name": "write" } }] });
    let end = ask("generateContent", json!([user, call, result])).json();
    assert_eq!(
        end["candidates"][0]["content"]["parts"][0]["text"],
        "it is written"
    );
    assert_eq!(end["usageMetadata"]["totalTokenCount"], 1060);
    assert_eq!(model.stats("ok").model, "g-1");
}

#[test]
fn a_repair_message_without_a_script_gets_the_next_turn() {
    let model = FakeModel::start().unwrap();
    let messages = json!([
        { "role": "user", "content": "@@final prose\n@@next\n@@final {\"id\":\"A\"}" },
        { "role": "assistant", "content": "prose" },
        { "role": "user", "content": "that was no report" },
    ]);
    let end = post(&model, "/ok/v1/chat/completions", &chat(false, &messages)).json();
    assert_eq!(end["choices"][0]["message"]["content"], "{\"id\":\"A\"}");
}

#[test]
fn failures_carry_their_status_and_flaky_ends() {
    let model = FakeModel::start().unwrap();
    let body = chat(false, &json!([{ "role": "user", "content": "@@final x" }]));
    for status in [400, 401, 429, 500, 503] {
        let got = post(&model, &format!("/e{status}/v1/chat/completions"), &body);
        assert_eq!(got.status, status);
        assert!(got.json()["error"]["message"].is_string());
        assert_eq!(
            got.head.contains("retry-after: 1"),
            [429, 503].contains(&status),
            "{status}"
        );
    }
    let statuses: Vec<u16> = (0..3)
        .map(|_| post(&model, "/flaky2/v1/chat/completions", &body).status)
        .collect();
    assert_eq!(statuses, [429, 429, 200]);
    assert_eq!(
        post(&model, "/flaky2.other/v1/chat/completions", &body).status,
        429
    );
    assert_eq!(post(&model, "/nonsense/v1/chat/completions", &body).status, 404);

    let mut text = String::new();
    send(&model, "GET", "/_stats", "")
        .read_to_string(&mut text)
        .unwrap();
    let stats: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(stats["flaky2"]["requests"], 3);
    assert_eq!(stats["flaky2.other"]["requests"], 1);
}

#[test]
fn a_cut_stream_lacks_its_end() {
    let model = FakeModel::start().unwrap();
    let body = chat(true, &json!([{ "role": "user", "content": "@@final x" }]));
    let got = post(&model, "/cut2/v1/chat/completions", &body);
    assert!(got.body.contains("\"content\":\"x\"") && !got.body.contains("\"finish_reason\":\"stop\""));
    // The body is chunked and its last, empty chunk never came.
    assert!(got.head.contains("chunked") && !got.body.ends_with("0\r\n\r\n"));
}

#[test]
fn a_hanging_request_ends_with_the_service() {
    let model = FakeModel::start().unwrap();
    let body = chat(false, &json!([{ "role": "user", "content": "@@final x" }]));
    let mut stream = send(&model, "POST", "/hang/v1/chat/completions", &body.to_string());
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut buffer = [0; 16];
    assert!(stream.read(&mut buffer).is_err(), "no answer yet");
    drop(model);
    stream.set_read_timeout(None).unwrap();
    assert_eq!(stream.read(&mut buffer).unwrap_or(0), 0);
}

#[test]
fn the_closed_port_refuses() {
    let model = FakeModel::start().unwrap();
    let error = TcpStream::connect(model.refused_url().strip_prefix("http://").unwrap()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn the_program_says_where_it_is_and_ends_with_its_stdin() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_wavecrew-fake-model"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    connect(ready["url"].as_str().unwrap());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
