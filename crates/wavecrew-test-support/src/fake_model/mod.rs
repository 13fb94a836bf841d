//! A model service for tests and examples, on loopback only. The prompt scripts what it answers ([`script`]), the
//! first element of the URL's path says how it fails ([`mode`]); it speaks four dialects ([`dialect`]).
//! [`client`] points agents at it. It never thinks, never reads keys and keeps nothing but counters.
//!
//! ```text
//! let model = wavecrew_test_support::fake_model::FakeModel::start()?;
//! let base = model.base("ok"); // for a flaky service: model.base("flaky2")
//! ```

pub mod client;
pub mod dialect;
pub mod mode;
pub mod script;
mod server;
mod stats;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;

pub use stats::{ModeStats, Stats};

/// A running service. It stops, hanging requests included, when this is dropped.
#[derive(Debug)]
pub struct FakeModel {
    url: String,
    refused_url: String,
    stats: Arc<Stats>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeModel {
    /// Starts on a free port.
    pub fn start() -> io::Result<Self> {
        Self::start_on(0)
    }

    /// Starts on the given port of the loopback interface; 0 takes a free one.
    pub fn start_on(port: u16) -> io::Result<Self> {
        // A thread with its own runtime, so that plain and async tests use it alike and a blocked test blocks only itself.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let (sender, receiver) = mpsc::channel();
        let stats = Arc::new(Stats::default());
        let shared = Arc::clone(&stats);
        let thread = std::thread::spawn(move || {
            runtime.block_on(async move {
                match Sockets::bind(port).await {
                    Ok((sockets, addresses)) => {
                        // Both ends of the channel live in this crate; a gone receiver means the caller is gone too.
                        if sender.send(Ok(addresses)).is_ok() {
                            sockets.serve(shared, stopped).await;
                        }
                    }
                    Err(error) => drop(sender.send(Err(error))),
                }
            });
        });
        let (address, refused) = receiver.recv().map_err(io::Error::other)??;
        Ok(Self {
            url: format!("http://{address}"),
            refused_url: format!("http://{refused}"),
            stats,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens, without a mode: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The base URL that answers in `mode`. OpenAI's clients add `/v1` to it themselves or want it added.
    pub fn base(&self, mode: &str) -> String {
        format!("{}/{mode}", self.url)
    }

    /// An address on which connections are refused for as long as this service lives.
    pub fn refused_url(&self) -> &str {
        &self.refused_url
    }

    /// What was asked so far in `mode`.
    pub fn stats(&self, mode: &str) -> ModeStats {
        self.stats.of(mode)
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server already showed on stderr; a second one in drop would abort the test process.
            drop(thread.join());
        }
    }
}

/// The listening socket, and one that is bound and never listens: the port is in use and refuses every
/// connection.
struct Sockets {
    listener: TcpListener,
    closed: TcpSocket,
}

impl Sockets {
    async fn bind(port: u16) -> io::Result<(Self, (SocketAddr, SocketAddr))> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let closed = TcpSocket::new_v4()?;
        closed.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let addresses = (listener.local_addr()?, closed.local_addr()?);
        Ok((Self { listener, closed }, addresses))
    }

    async fn serve(self, stats: Arc<Stats>, stopped: oneshot::Receiver<()>) {
        tokio::select! {
            result = axum::serve(self.listener, server::router(stats)) => result.expect("accepting on loopback does not end"),
            _ = stopped => {}
        }
        drop(self.closed);
    }
}
