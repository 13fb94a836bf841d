//! `wavecrew web`: the sessions of this project in the browser.

use crate::browser::{bind, is_reachable_by_others, open_browser};
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use crate::project::typed;
use crate::session_view::SessionArg;
use crate::show;
use serde_json::json;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use wavecrew_web::{Certificate, Desk, TlsError};

/// Show the sessions of this project in the browser
#[derive(clap::Args, Debug)]
#[command(mut_arg("session", |arg| arg.help("Session to open: its name, or the beginning of it [default: all sessions]")))]
#[command(after_help = "\
Examples:
  wavecrew web                                   print the link to all sessions
  wavecrew web --open                            open it in the browser
  wavecrew web run-tasks-20260308 --port 8420    one session, always at the same port
  wavecrew web --listen 0.0.0.0                  for other machines, without TLS
  wavecrew web --listen 0.0.0.0 --tls-cert cert.pem --tls-key key.pem")]
pub struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Port of the server [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Address to listen on; without a certificate the connection has no TLS
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// Certificate in PEM format, with its chain: the connection has TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Open the browser
    #[arg(long)]
    open: bool,
    /// Make a new link; earlier ones no longer work
    #[arg(long)]
    new_link: bool,
}

impl Args {
    /// Serves until it is ended.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let project = std::env::current_dir().map_err(Failure::Output)?;
        let path = match &self.session.session {
            Some(_) => format!("/s/{}", self.session.find_to_read(global)?.id()),
            None => "/".to_owned(),
        };
        let address = SocketAddr::new(self.listen, self.port);
        let certificate = self.certificate()?;
        let has_tls = certificate.is_some();
        let bound = bind(
            &project,
            address,
            Arc::new(Desk::default()),
            certificate,
            self.new_link,
        )?;
        let (link, read_only) = (bound.link(&path), bound.read_only_link(&path));
        if needs_warning(self.listen, has_tls) && !global.quiet {
            show::warning(
                "others on the network can reach this server, and the connection has no TLS",
                Some(
                    "give a certificate with --tls-cert and --tls-key, use it in networks that you trust, or listen on \
                     127.0.0.1 and forward the port with ssh",
                ),
            );
        }
        let text = format!("Open       {link}\nRead-only  {read_only}\nPress Ctrl-C to stop the server");
        json::answer(global, json!({"link": link, "read_only_link": read_only}), &text)?;
        std::io::stdout().flush()?;
        if self.open {
            open_browser(&link);
        }
        bound.serve().map_err(|error| Failure::input(error.to_string()))?;
        Ok(Exit::Done)
    }

    fn certificate(&self) -> Result<Option<Certificate>, Failure> {
        let (Some(chain), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let read = Certificate::read(&typed(chain), &typed(key));
        read.map(Some).map_err(|error| {
            let help = match &error {
                TlsError::File { .. } => "name files in PEM format: --tls-cert CHAIN --tls-key KEY",
                TlsError::Unusable(_) => "name the key that belongs to the certificate",
            };
            Failure::with_help(error.to_string(), help)
        })
    }
}

/// Whether others can read the connection between server and browser.
fn needs_warning(listen: IpAddr, has_tls: bool) -> bool {
    is_reachable_by_others(listen) && !has_tls
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn only_a_plain_connection_to_others_is_worth_a_warning() {
        for (listen, has_tls, warns) in [
            ("127.0.0.1", false, false),
            ("::1", false, false),
            ("0.0.0.0", false, true),
            ("0.0.0.0", true, false),
            ("192.0.2.1", false, true),
        ] {
            assert_eq!(needs_warning(listen.parse().unwrap(), has_tls), warns, "{listen}");
        }
    }
}
