//! A real NATS server, one node or a cluster of three, on free ports in a temporary folder. It can be killed, paused and
//! started again, and ends with the test, also when the test itself is killed.

use crate::sandbox::{wait_for, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Ports that the system does not assign by itself, so that a restarted node finds its own still free.
const PORTS: std::ops::Range<u16> = 10_000..32_000;
/// The shell is the parent of the server. Its standard input ends with the test, and the server with it.
const KEEPER: &str = r#""$@" >/dev/null 2>&1 & echo $!; read -r end; kill -9 $!; wait $!"#;

/// The program that `scripts/install-nats.sh` installed; `None` when tests of remote workers are skipped.
pub fn installed() -> Option<PathBuf> {
    if std::env::var_os("WAVECREW_SKIP_REMOTE").is_some_and(|value| value == "1") {
        eprintln!("skipped: WAVECREW_SKIP_REMOTE=1");
        return None;
    }
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let program = std::env::var_os("WAVECREW_NATS_DIR")
        .map_or_else(|| home().join(".cache/wavecrew/nats"), PathBuf::from)
        .join("current/venv/bin/nats-server");
    assert!(
        program.exists(),
        "no {}: run scripts/install-nats.sh, or set WAVECREW_SKIP_REMOTE=1 to skip these tests",
        program.display()
    );
    Some(program)
}

/// How the server is set up.
#[derive(Debug, Clone)]
pub struct NatsSetup {
    /// 1, or 3 for a cluster.
    pub nodes: usize,
    /// More lines of the configuration: TLS, users, permissions.
    pub config: String,
    /// Lines of the `jetstream` block, such as limits; `None` for a server without JetStream.
    pub jetstream: Option<String>,
    /// The address that the nodes listen at.
    pub address: String,
    /// What comes before the program, such as `ip netns exec NAME`.
    pub prefix: Vec<String>,
}

impl Default for NatsSetup {
    fn default() -> Self {
        Self {
            nodes: 1,
            config: String::new(),
            jetstream: Some(String::new()),
            address: "127.0.0.1".to_owned(),
            prefix: Vec::new(),
        }
    }
}

/// A running server. Dropping it ends its nodes.
#[derive(Debug)]
pub struct NatsServer {
    nodes: Vec<Node>,
    program: PathBuf,
    setup: NatsSetup,
    folder: TempDir,
}

#[derive(Debug)]
struct Node {
    ports: Ports,
    running: Option<(Child, Pid)>,
}

#[derive(Debug, Clone, Copy)]
struct Ports {
    client: u16,
    monitor: u16,
    route: u16,
}

impl NatsServer {
    /// One node. `None` when these tests are skipped.
    pub fn start() -> Option<Self> {
        Self::with(&NatsSetup::default())
    }

    /// Three nodes.
    pub fn cluster() -> Option<Self> {
        Self::with(&NatsSetup {
            nodes: 3,
            ..NatsSetup::default()
        })
    }

    /// One node with more lines in its configuration.
    pub fn with_config(config: impl Into<String>) -> Option<Self> {
        Self::with(&NatsSetup {
            config: config.into(),
            ..NatsSetup::default()
        })
    }

    pub fn with(setup: &NatsSetup) -> Option<Self> {
        let program = installed()?;
        // Another process may take a port between the choice and the start: then everything is chosen again.
        Some(wait_for("free ports", || {
            Self::try_start(program.clone(), setup.clone())
        }))
    }

    fn try_start(program: PathBuf, setup: NatsSetup) -> Option<Self> {
        let nodes = (0..setup.nodes)
            .map(|_| Node {
                ports: free_ports(),
                running: None,
            })
            .collect();
        let mut server = Self {
            nodes,
            program,
            setup,
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        for index in 0..server.nodes.len() {
            server.write_config(index);
            server.spawn(index);
        }
        (0..server.nodes.len())
            .all(|index| server.wait_until_ready(index))
            .then_some(server)
    }

    /// The addresses of all nodes, separated by commas.
    pub fn url(&self) -> String {
        (0..self.nodes.len())
            .map(|index| self.url_of(index))
            .collect::<Vec<_>>()
            .join(",")
    }

    pub fn url_of(&self, node: usize) -> String {
        format!("nats://{}:{}", self.setup.address, self.port(node))
    }

    pub fn port(&self, node: usize) -> u16 {
        self.nodes[node].ports.client
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What a node wrote into its log.
    pub fn log(&self, node: usize) -> String {
        fs::read_to_string(self.folder.path().join(format!("n{node}.log"))).unwrap_or_default()
    }

    /// Ends a node at once, as a power failure would. Its store stays.
    pub fn kill(&mut self, node: usize) {
        if let Some((mut keeper, _)) = self.nodes[node].running.take() {
            drop(keeper.stdin.take());
            keeper.wait().expect("the keeper ends");
        }
    }

    pub fn pause(&self, node: usize) {
        self.signal(node, Signal::STOP);
    }

    pub fn resume(&self, node: usize) {
        self.signal(node, Signal::CONT);
    }

    /// Starts a killed node again, with its store and its ports, and waits until it is ready.
    pub fn restart(&mut self, node: usize) {
        self.kill(node);
        self.start_again(node);
        assert!(
            self.wait_until_ready(node),
            "node {node} ended: {}",
            self.log(node)
        );
    }

    /// Starts a killed node without waiting for it.
    pub fn start_again(&mut self, node: usize) {
        assert!(self.nodes[node].running.is_none(), "node {node} runs");
        self.spawn(node);
    }

    /// The node that leads a stream; waits until there is one.
    pub fn leader_of(&self, stream: &str) -> usize {
        wait_for("a leader of the stream", || {
            (0..self.nodes.len())
                .filter(|index| self.nodes[*index].running.is_some())
                .find(|index| self.leads(*index, stream))
        })
    }

    fn leads(&self, node: usize, stream: &str) -> bool {
        let Some(found) = self.monitor(node, "/jsz?streams=true") else {
            return false;
        };
        let accounts = found["account_details"].as_array().cloned().unwrap_or_default();
        accounts
            .iter()
            .filter_map(|account| account["stream_detail"].as_array())
            .flatten()
            .filter(|detail| detail["name"] == stream)
            .any(|detail| {
                let leader = &detail["cluster"]["leader"];
                leader.is_null() || leader == &format!("n{node}")
            })
    }

    /// A page of the node's monitoring, if it answers.
    pub fn monitor(&self, node: usize, path: &str) -> Option<Value> {
        let address = format!("{}:{}", self.setup.address, self.nodes[node].ports.monitor);
        let mut stream = TcpStream::connect(&address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply).ok()?;
        let (head, body) = reply.split_once("\r\n\r\n")?;
        let ok = head.split(' ').nth(1) == Some("200");
        ok.then(|| serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn signal(&self, node: usize, signal: Signal) {
        if let Some((_, pid)) = &self.nodes[node].running {
            kill_process(*pid, signal).expect("the keeper has not waited for it");
        }
    }

    fn write_config(&self, index: usize) {
        let folder = self.folder.path();
        let address = &self.setup.address;
        let Ports {
            client,
            monitor,
            route,
        } = self.nodes[index].ports;
        let mut text = format!(
            "server_name: n{index}\nlisten: \"{address}:{client}\"\nhttp: \"{address}:{monitor}\"\n\
             log_file: \"{0}/n{index}.log\"\n",
            folder.display()
        );
        if let Some(lines) = &self.setup.jetstream {
            let _ = writeln!(
                text,
                "jetstream {{\nstore_dir: \"{}/n{index}\"\n{lines}\n}}",
                folder.display()
            );
        }
        if self.nodes.len() > 1 {
            let routes: Vec<String> = self
                .nodes
                .iter()
                .map(|node| format!("\"nats://{address}:{}\"", node.ports.route))
                .collect();
            let _ = writeln!(
                text,
                "cluster {{\nname: test\nlisten: \"{address}:{route}\"\nroutes: [{}]\n}}",
                routes.join(", ")
            );
        }
        text.push_str(&self.setup.config);
        fs::write(folder.join(format!("n{index}.conf")), text).expect("a configuration");
    }

    fn spawn(&mut self, index: usize) {
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .args(&self.setup.prefix)
            .arg(&self.program)
            .arg("-c")
            .arg(self.folder.path().join(format!("n{index}.conf")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("the number of the server");
        let pid = line
            .trim()
            .parse()
            .ok()
            .and_then(Pid::from_raw)
            .expect("the number of the server");
        self.nodes[index].running = Some((keeper, pid));
    }

    /// Whether the node is ready; if not, it has ended.
    fn wait_until_ready(&self, index: usize) -> bool {
        let mut ready = false;
        wait_until("the NATS server", || {
            ready = if self.setup.prefix.is_empty() {
                self.monitor(index, "/healthz").is_some()
            } else {
                self.log(index).contains("Server is ready")
            };
            ready || self.has_ended(index)
        });
        ready
    }

    fn has_ended(&self, index: usize) -> bool {
        let Some((_, pid)) = &self.nodes[index].running else {
            return true;
        };
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        for index in 0..self.nodes.len() {
            self.kill(index);
        }
    }
}

fn free_ports() -> Ports {
    // Held until all are chosen, so that they differ.
    let held: Vec<TcpListener> = (0..3).map(|_| wait_for("a free port", free_port)).collect();
    let port = |index: usize| held[index].local_addr().expect("it is bound").port();
    Ports {
        client: port(0),
        monitor: port(1),
        route: port(2),
    }
}

fn free_port() -> Option<TcpListener> {
    let random = RandomState::new().hash_one(std::process::id());
    let offset = u16::try_from(random % u64::from(PORTS.end - PORTS.start)).expect("smaller than a port");
    TcpListener::bind(("127.0.0.1", PORTS.start + offset)).ok()
}
