//! A server under test, and requests to it as a browser or an attacker would send them.

use crate::http::{Reply, exchange};
use crate::sandbox::{Running, Sandbox, Words, wait_for};
use serde_json::Value;

/// `wavecrew web`, running.
pub struct Server {
    pub running: Running,
    /// `127.0.0.1:PORT`
    pub address: String,
    pub token: String,
    pub view_token: String,
}

impl Server {
    pub fn start(sandbox: &Sandbox, words: impl Words) -> Self {
        let mut command = sandbox.command("web --json");
        command.args(words.list());
        let running = sandbox.spawn(&mut command);
        let links: Value = wait_for("the links", || serde_json::from_str(&running.stdout()).ok());
        let part = |name: &str| {
            let link = links[name].as_str().expect("a link");
            let (address, token) = link.split_once("token=").expect("a token");
            let address = address
                .trim_start_matches("http://")
                .trim_start_matches("https://")
                .split('/')
                .next()
                .unwrap_or_default();
            (address.to_owned(), token.to_owned())
        };
        let ((address, token), (_, view_token)) = (part("link"), part("read_only_link"));
        Self {
            running,
            address,
            token,
            view_token,
        }
    }

    pub fn link(&self, path: &str) -> String {
        format!("http://{}{path}?token={}", self.address, self.token)
    }

    fn cookie(&self, token: &str) -> String {
        let port = self.address.rsplit(':').next().unwrap_or_default();
        format!("Cookie: wavecrew-{port}={token}")
    }

    /// A page, with the cookie of full access.
    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[&self.cookie(&self.token)], "")
    }

    pub fn get_read_only(&self, path: &str) -> Reply {
        self.send("GET", path, &[&self.cookie(&self.view_token)], "")
    }

    /// A form, sent as the page of the server would.
    pub fn post(&self, path: &str, form: &str) -> Reply {
        let origin = format!("Origin: http://{}", self.address);
        self.send("POST", path, &[&self.cookie(&self.token), &origin], form)
    }

    pub fn post_from(&self, path: &str, origin: &str, token: &str) -> Reply {
        let origin = format!("Origin: {origin}");
        self.send("POST", path, &[&self.cookie(token), &origin], "")
    }

    pub fn send(&self, method: &str, path: &str, headers: &[&str], form: &str) -> Reply {
        let host = format!("Host: {}", self.address);
        let host = if headers.iter().any(|header| header.starts_with("Host:")) {
            "X-Nothing: 1"
        } else {
            &host
        };
        let headers: String = headers
            .iter()
            .map(|header| format!("{header}\r\n"))
            .collect::<Vec<_>>()
            .concat();
        let length = form.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}\r\n{headers}Content-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{form}"
        );
        exchange(&self.address, &request)
    }
}
