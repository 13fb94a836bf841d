//! The certificate of a server, read from PEM files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {reason}", file.display())]
    File { file: PathBuf, reason: String },
    #[error("the certificate and the key cannot be used: {0}")]
    Unusable(String),
}

/// A certificate with its key.
#[derive(Clone)]
pub struct Certificate(Arc<ServerConfig>);

impl Certificate {
    /// Reads a chain of certificates and the key of the first one.
    pub fn read(chain: &Path, key: &Path) -> Result<Self, TlsError> {
        let unreadable = |file: &Path, error: &pem::Error| TlsError::File {
            file: file.to_owned(),
            reason: match error {
                pem::Error::Io(error) if error.kind() == io::ErrorKind::NotFound => "no such file".to_owned(),
                pem::Error::Io(error) => error.to_string(),
                pem::Error::NoItemsFound => "it has no such part in PEM format".to_owned(),
                other => other.to_string(),
            },
        };
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(chain)
            .and_then(Iterator::collect)
            .map_err(|error| unreadable(chain, &error))?;
        if certificates.is_empty() {
            return Err(unreadable(chain, &pem::Error::NoItemsFound));
        }
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
        let unusable = |error: tokio_rustls::rustls::Error| TlsError::Unusable(error.to_string());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(certificates, private)
            .map_err(unusable)?;
        Ok(Self(Arc::new(config)))
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0))
    }
}
