//! A client of few words: one JSON-RPC message per line, answers found by their id.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub const VERSION: &str = "2025-11-25";

pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
    /// Notifications that came while an answer was awaited.
    pub heard: Vec<Value>,
}

impl Client {
    /// Starts `wavecrew mcp ...` and introduces itself.
    pub fn start(folder: &Path, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut client = Self::silent(folder, args, env);
        let hello = client.introduce(VERSION);
        assert_eq!(hello["serverInfo"]["name"], "wavecrew");
        client
    }

    pub fn silent(folder: &Path, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wavecrew"));
        for name in ["WAVECREW_SESSION_DIR", "WAVECREW_TASK", "WAVECREW_TOKEN"] {
            command.env_remove(name);
        }
        command
            .arg("mcp")
            .args(args)
            .current_dir(folder)
            .envs(env.iter().copied());
        Self::by(command)
    }

    /// Starts a server by this command.
    pub fn by(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            next: 1,
            heard: Vec::new(),
        }
    }

    pub fn introduce(&mut self, version: &str) -> Value {
        self.introduce_with(version, json!({}))
    }

    /// Says what it can do besides.
    pub fn introduce_with(&mut self, version: &str, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "0"},
        });
        let answer = self.request("initialize", params);
        self.line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        answer["result"].clone()
    }

    pub fn line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
        stdin.flush().unwrap();
    }

    /// Sends a request without waiting; returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    pub fn answer(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message["method"].is_null())
    }

    /// The next request or notification of this kind.
    pub fn hear(&mut self, method: &str) -> Value {
        self.until(|message| message["method"] == *method)
    }

    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(
                self.stdout.read_line(&mut line).unwrap(),
                0,
                "the server went away"
            );
            let message: Value = serde_json::from_str(&line).unwrap();
            if is_it(&message) {
                return message;
            }
            self.heard.push(message);
        }
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    pub fn tools(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The whole result of a tool's call.
    pub fn raw_call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// What a tool answered for programs.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.raw_call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    }

    /// What a tool complained about.
    pub fn complaint(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.raw_call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The process of the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server without a warning.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Hangs up and waits for the server's end.
    pub fn hang_up(mut self) -> i32 {
        drop(self.stdin.take());
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}
