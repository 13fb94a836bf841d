//! A headless Chromium, driven over WebDriver. One per test; it ends with it.

use super::client::exchange;
use serde_json::{Value, json};
use std::process::Command;
use wavecrew_test_support::sandbox::{Running, Sandbox, wait_for, wait_until};

pub struct Browser {
    _driver: Running,
    address: String,
    session: String,
}

impl Browser {
    /// `None` where the machine has no Chromium and its tests are skipped.
    pub fn start(sandbox: &Sandbox) -> Option<Self> {
        if std::env::var_os("WAVECREW_SKIP_BROWSER").is_some_and(|value| value == "1") {
            eprintln!("skipped: WAVECREW_SKIP_BROWSER=1");
            return None;
        }
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").env("HOME", sandbox.beside("home"));
        let driver = sandbox.spawn(&mut command);
        let port = wait_for("chromedriver", || {
            let said = driver.stdout();
            let (_, rest) = said.split_once("successfully on port ")?;
            Some(rest.split_once('.')?.0.to_owned())
        });
        let mut browser = Self {
            _driver: driver,
            address: format!("127.0.0.1:{port}"),
            session: String::new(),
        };
        let args = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1300,900",
        ];
        let options = json!({"pageLoadStrategy": "eager", "goog:chromeOptions": {"args": args}});
        let made = browser.call(
            "POST",
            "/session",
            &json!({"capabilities": {"alwaysMatch": options}}),
        );
        browser.session = format!("/session/{}", made["sessionId"].as_str().expect("a session"));
        Some(browser)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "POST" {
            body.to_string()
        } else {
            String::new()
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let reply = exchange(&self.address, &request);
        let mut answer: Value =
            serde_json::from_str(&reply.body).unwrap_or_else(|error| panic!("{error}: {}", reply.body));
        assert_eq!(reply.status, 200, "{path}: {answer}");
        answer["value"].take()
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("{}{path}", self.session), body)
    }

    pub fn open(&self, link: &str) {
        self.command("/url", &json!({"url": link}));
    }

    /// The value of a script.
    pub fn run(&self, script: &str) -> Value {
        self.command("/execute/sync", &json!({"script": script, "args": []}))
    }

    pub fn run_async(&self, script: &str) -> Value {
        self.command("/execute/async", &json!({"script": script, "args": []}))
    }

    pub fn text(&self) -> String {
        self.run("return document.body.innerText")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        wait_until(&format!("{text:?} in the page"), || self.text().contains(text));
    }

    /// Clicks on the first element that the selector names, once it is there.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let quoted = Value::from(selector);
        let script = format!(
            "const found = document.querySelector({quoted}); if (found) found.click(); return !!found"
        );
        wait_until(selector, || self.run(&script) == true);
    }

    pub fn new_tab(&self) -> String {
        let tab = self.command("/window/new", &json!({"type": "tab"}));
        let handle = tab["handle"].as_str().expect("a tab").to_owned();
        self.switch(&handle);
        handle
    }

    pub fn tab(&self) -> String {
        let handle = self.call("GET", &format!("{}/window", self.session), &Value::Null);
        handle.as_str().expect("a tab").to_owned()
    }

    pub fn switch(&self, handle: &str) {
        self.command("/window", &json!({"handle": handle}));
    }

    /// A theme and a width, as a device with them has.
    pub fn look_like(&self, theme: &str, width: u32) {
        let devtools = |cmd: &str, params: Value| {
            self.command("/goog/cdp/execute", &json!({"cmd": cmd, "params": params}))
        };
        devtools(
            "Emulation.setEmulatedMedia",
            json!({"features": [{"name": "prefers-color-scheme", "value": theme}]}),
        );
        devtools(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}),
        );
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.call("DELETE", &self.session, &Value::Null);
        }
    }
}
