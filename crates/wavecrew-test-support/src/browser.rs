//! A headless Chromium, driven over WebDriver. One per test; it ends with it.
//!
//! A client of our own instead of `fantoccini` or `thirtyfour`: WebDriver is a POST of JSON to a local port. The clients add
//! about forty crates and an async runtime to every test, and chromedriver, waiting, themes and widths would remain here.

use crate::http::exchange;
use crate::sandbox::{Running, Sandbox, wait_for, wait_until};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

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
        // Chromium leaves its profile behind: where it is removed with the sandbox.
        let temporary = sandbox.beside("chromium");
        std::fs::create_dir_all(&temporary).expect("a folder for Chromium");
        command
            .arg("--port=0")
            .env("HOME", sandbox.beside("home"))
            .env("TMPDIR", temporary);
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
        let options = json!({
            "pageLoadStrategy": "eager",
            // Certificates of tests are not signed by an authority.
            "acceptInsecureCerts": true,
            "goog:chromeOptions": {"args": args},
        });
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

    /// Types into the first element that the selector names, once it is there, in place of what it holds.
    #[track_caller]
    pub fn write(&self, selector: &str, text: &str) {
        let (selector_, text) = (Value::from(selector), Value::from(text));
        let script = format!(
            "const found = document.querySelector({selector_}); if (found) found.value = {text}; return !!found"
        );
        wait_until(selector, || self.run(&script) == true);
    }

    /// Clicks on the button with this title, once it is there.
    #[track_caller]
    pub fn press(&self, title: &str) {
        let script = format!(
            "const found = [...document.querySelectorAll('button')].find((b) => b.textContent === {}); \
             if (found) found.click(); return !!found",
            Value::from(title)
        );
        wait_until(title, || self.run(&script) == true);
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
        self.open_new("tab")
    }

    pub fn new_window(&self) -> String {
        self.open_new("window")
    }

    fn open_new(&self, kind: &str) -> String {
        let made = self.command("/window/new", &json!({"type": kind}));
        let handle = made["handle"].as_str().expect("a handle").to_owned();
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

    /// Saves what the window shows.
    pub fn screenshot(&self, file: &Path) {
        let taken = self.call("GET", &format!("{}/screenshot", self.session), &Value::Null);
        let png = from_base64(taken.as_str().unwrap_or_default());
        std::fs::write(file, png).expect("the screenshot is saved");
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

fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes() {
        let Some(value) = DIGITS.iter().position(|known| *known == digit) else {
            continue;
        };
        held = held << 6 | u32::try_from(value).unwrap_or(0);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).unwrap_or(0));
        }
    }
    bytes
}
