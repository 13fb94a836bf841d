//! Decides who may use a host: a host executes only what the run of a trusted person has signed.
//!
//! - A person has an [`Identity`]: a key pair in a file that only they can read. Its public key is given to hosts.
//! - Every run makes a key pair of its own ([`RunKey`]). The identity signs a certificate for it: this key
//!   belongs to this run of this project. The private key of a run is never written anywhere, and ends with
//!   its process.
//! - Every message to a host is signed by the run's key, together with its subject, which names the host and
//!   the run. The certificate is sent with it.
//! - A host has a list of public keys ([`Trust`]). It checks the certificate against the list, and the
//!   message against the certificate. No other message makes the host start a program.

mod identity;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use async_nats::HeaderMap;
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};

pub use identity::{Identity, IdentityError};

const SIGNATURE: &str = "Wavecrew-Signature";
const CERTIFICATE: &str = "Wavecrew-Certificate";
const CERTIFICATE_SIGNATURE: &str = "Wavecrew-Certificate-Signature";
/// Signed bytes begin with their purpose, so that a signature is valid for one purpose only.
const FOR_MESSAGES: &str = "wavecrew message 1";
const FOR_CERTIFICATES: &str = "wavecrew certificate 1";

/// What an identity states about the key of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Certificate {
    identity: String,
    project: String,
    run: String,
    key: String,
}

/// The key of one run, with its certificate.
pub struct RunKey {
    pair: KeyPair,
    certificate: String,
    certificate_signature: String,
}

impl std::fmt::Debug for RunKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunKey")
            .field("key", &self.pair.public_key())
            .finish_non_exhaustive()
    }
}

impl RunKey {
    /// A new key pair for a run. `project` is the one of [`Names`](crate::names::Names).
    pub fn new(identity: &Identity, project: &str, run: &str) -> Self {
        let pair = KeyPair::new_user();
        let certificate = Certificate {
            identity: identity.public_key(),
            project: project.to_owned(),
            run: run.to_owned(),
            key: pair.public_key(),
        };
        let certificate = serde_json::to_string(&certificate).expect("plain data");
        let certificate_signature = sign(identity.pair(), FOR_CERTIFICATES, "", certificate.as_bytes());
        Self {
            pair,
            certificate,
            certificate_signature,
        }
    }

    /// Adds the signature of a message to its headers.
    pub fn sign(&self, headers: &mut HeaderMap, subject: &str, payload: &[u8]) {
        headers.insert(CERTIFICATE, self.certificate.as_str());
        headers.insert(CERTIFICATE_SIGNATURE, self.certificate_signature.as_str());
        headers.insert(
            SIGNATURE,
            sign(&self.pair, FOR_MESSAGES, subject, payload).as_str(),
        );
    }
}

/// Why a message is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTrusted {
    #[error("it is not signed")]
    NotSigned,
    #[error("it is signed with the key `{0}`, which this host does not trust")]
    Stranger(String),
    #[error("its signature is invalid")]
    BadSignature,
    #[error("its certificate is for another run or project")]
    OtherRun,
}

impl NotTrusted {
    /// The key that the host does not trust, if that is the reason.
    pub fn stranger(&self) -> Option<&str> {
        match self {
            Self::Stranger(key) => Some(key),
            Self::NotSigned | Self::BadSignature | Self::OtherRun => None,
        }
    }
}

/// The identities that a host works for.
#[derive(Debug, Default)]
pub struct Trust {
    identities: BTreeSet<String>,
    /// Valid certificates, by their signature: a run sends the same one with every message.
    checked: HashMap<String, Certificate>,
}

impl Trust {
    /// Public keys, as [`Identity::public_key`] prints them. The error is the first text that is not a key.
    pub fn new(identities: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let identities: BTreeSet<String> = identities.into_iter().collect();
        if let Some(wrong) = identities
            .iter()
            .find(|key| KeyPair::from_public_key(key).is_err())
        {
            return Err(wrong.clone());
        }
        Ok(Self {
            identities,
            checked: HashMap::new(),
        })
    }

    pub fn identities(&self) -> impl Iterator<Item = &str> {
        self.identities.iter().map(String::as_str)
    }

    /// Checks a message of a run that arrived on a subject.
    pub fn check(
        &mut self,
        (project, run): (&str, &str),
        headers: Option<&HeaderMap>,
        subject: &str,
        payload: &[u8],
    ) -> Result<(), NotTrusted> {
        let header = |name| {
            let value = headers.and_then(|headers| headers.get(name));
            value
                .map(async_nats::HeaderValue::as_str)
                .ok_or(NotTrusted::NotSigned)
        };
        let signature = header(SIGNATURE)?;
        let certificate = self.certificate(header(CERTIFICATE)?, header(CERTIFICATE_SIGNATURE)?)?;
        if certificate.project != project || certificate.run != run {
            return Err(NotTrusted::OtherRun);
        }
        verify(&certificate.key, FOR_MESSAGES, subject, payload, signature)
    }

    fn certificate(&mut self, text: &str, signature: &str) -> Result<&Certificate, NotTrusted> {
        // Far more runs than a host serves at once.
        const REMEMBERED: usize = 1000;
        let found: Certificate = serde_json::from_str(text).map_err(|_| NotTrusted::BadSignature)?;
        if !self.identities.contains(&found.identity) {
            return Err(NotTrusted::Stranger(found.identity));
        }
        if self.checked.get(signature) != Some(&found) {
            verify(&found.identity, FOR_CERTIFICATES, "", text.as_bytes(), signature)?;
            if self.checked.len() >= REMEMBERED {
                self.checked.clear();
            }
            self.checked.insert(signature.to_owned(), found);
        }
        Ok(&self.checked[signature])
    }
}

fn signed_bytes(purpose: &str, subject: &str, payload: &[u8]) -> Vec<u8> {
    // Neither a purpose nor a subject contains a zero.
    [purpose.as_bytes(), b"\0", subject.as_bytes(), b"\0", payload].concat()
}

fn sign(pair: &KeyPair, purpose: &str, subject: &str, payload: &[u8]) -> String {
    let signature = pair
        .sign(&signed_bytes(purpose, subject, payload))
        .expect("the pair has its private key");
    let hex = signature.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    hex.map(|digit| char::from_digit(digit.into(), 16).expect("four bits"))
        .collect()
}

fn verify(
    key: &str,
    purpose: &str,
    subject: &str,
    payload: &[u8],
    signature: &str,
) -> Result<(), NotTrusted> {
    let digits = |at: usize| {
        signature
            .get(at..at + 2)
            .and_then(|two| u8::from_str_radix(two, 16).ok())
    };
    let bytes: Option<Vec<u8>> = (0..signature.len()).step_by(2).map(digits).collect();
    let pair = KeyPair::from_public_key(key).map_err(|_| NotTrusted::BadSignature)?;
    pair.verify(
        &signed_bytes(purpose, subject, payload),
        &bytes.ok_or(NotTrusted::BadSignature)?,
    )
    .map_err(|_| NotTrusted::BadSignature)
}
