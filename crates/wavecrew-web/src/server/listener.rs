//! Connections that end when the browser does not read, so that a stalled browser does not slow the run. With
//! a certificate they are encrypted; the handshake is part of the connection, so that a slow one does not
//! block others.

use axum::serve::Listener;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

pub struct Impatient {
    pub listener: TcpListener,
    /// How long a write may wait for the browser.
    pub patience: Duration,
    pub tls: Option<TlsAcceptor>,
}

impl Listener for Impatient {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Small pieces are sent at once.
        let _ = stream.set_nodelay(true);
        let wire = match &self.tls {
            Some(tls) => Wire::Handshake(Box::new(tls.accept(stream))),
            None => Wire::Plain(stream),
        };
        let connection = Connection {
            wire,
            patience: self.patience,
            stalled: None,
        };
        (connection, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

enum Wire {
    Plain(TcpStream),
    Handshake(Box<Accept<TcpStream>>),
    Tls(Box<TlsStream<TcpStream>>),
}

trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

impl Wire {
    /// The stream, after the handshake.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Pin<&mut dyn Stream>>> {
        if let Self::Handshake(accept) = self {
            *self = Self::Tls(Box::new(ready!(Pin::new(accept).poll(context))?));
        }
        Poll::Ready(Ok(match self {
            Self::Plain(stream) => Pin::new(stream),
            Self::Tls(stream) => Pin::new(stream),
            Self::Handshake(_) => unreachable!("it is over"),
        }))
    }
}

pub struct Connection {
    wire: Wire,
    patience: Duration,
    /// The timer of a waiting write.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    fn written<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.wire.poll_ready(context))?.poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = match self.wire.poll_ready(context) {
            Poll::Ready(Ok(stream)) => stream.poll_write(context, bytes),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        };
        self.written(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match self.wire.poll_ready(context) {
            Poll::Ready(Ok(stream)) => stream.poll_flush(context),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        };
        self.written(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.wire.poll_ready(context))?.poll_shutdown(context)
    }
}

/// An address for links: that of the network where a server listens on all of them.
pub fn reachable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    // Sends nothing: connecting to an unused address only selects the network interface.
    let outward = UdpSocket::bind((address.ip(), 0)).and_then(|socket| {
        let nobody: (&str, u16) = if address.is_ipv4() {
            ("192.0.2.1", 9)
        } else {
            ("2001:db8::1", 9)
        };
        socket.connect(nobody)?;
        socket.local_addr()
    });
    let loopback: IpAddr = if address.is_ipv4() {
        Ipv4Addr::LOCALHOST.into()
    } else {
        Ipv6Addr::LOCALHOST.into()
    };
    SocketAddr::new(outward.map_or(loopback, |own| own.ip()), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Writes to a browser that reads nothing; returns how the server's side ended.
    async fn write_to(reads: bool, patience: Duration) -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut browser = TcpStream::connect(listener.local_addr()?).await?;
        let mut impatient = Impatient {
            listener,
            patience,
            tls: None,
        };
        let (mut connection, _) = impatient.accept().await;
        let reading = tokio::spawn(async move {
            let mut sink = vec![0; 1 << 20];
            while reads && browser.read(&mut sink).await.is_ok_and(|length| length > 0) {}
            browser
        });
        // More than the buffers of both ends hold.
        let written = connection.write_all(&vec![b'x'; 64 << 20]).await;
        drop(connection);
        drop(reading.await);
        written
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(future)
    }

    #[test]
    fn a_browser_that_does_not_read_is_disconnected() {
        let ended = run(write_to(false, Duration::from_millis(20)));
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn links_never_name_all_addresses() {
        let own: SocketAddr = "127.0.0.1:80".parse().unwrap();
        assert_eq!(reachable(own), own);
        for all in ["0.0.0.0:80", "[::]:80"] {
            let link = reachable(all.parse().unwrap());
            assert!(!link.ip().is_unspecified() && link.port() == 80, "{link}");
        }
    }

    #[test]
    fn a_browser_that_reads_gets_everything() {
        run(write_to(true, Duration::from_mins(10))).unwrap();
    }
}
