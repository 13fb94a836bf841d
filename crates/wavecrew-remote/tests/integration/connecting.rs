//! Every way to log in, and every way to fail with its own error.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use wavecrew_remote::connect::{ConnectError, ConnectionSettings, connect};
use wavecrew_test_support::nats_server::{NatsServer, NatsSetup};

#[tokio::test]
async fn a_plain_server_accepts_a_connection() {
    let Some(server) = NatsServer::start() else { return };
    let connection = connect(&ConnectionSettings::url(server.url()), "test")
        .await
        .expect("a connection");
    let account = connection.jetstream.query_account().await.expect("JetStream");
    assert_eq!(account.streams, 0);
}

#[tokio::test]
async fn a_cluster_accepts_a_connection() {
    let Some(server) = NatsServer::cluster() else {
        return;
    };
    connect(&ConnectionSettings::url(server.url()), "test")
        .await
        .expect("a connection");
}

#[tokio::test]
async fn a_wrong_address_and_a_closed_port_have_their_own_errors() {
    let wrong = ["", ",", "ftp://host", "nats://", "nats://a b"];
    for url in wrong {
        let error = connect(&ConnectionSettings::url(url), "test").await.unwrap_err();
        assert!(matches!(error, ConnectError::Url { .. }), "{url}: {error}");
    }
    let Some(mut server) = NatsServer::start() else {
        return;
    };
    server.kill(0);
    let error = connect(&ConnectionSettings::url(server.url()), "test")
        .await
        .unwrap_err();
    assert!(matches!(error, ConnectError::Refused { .. }), "{error}");
    assert!(error.to_string().contains(&server.port(0).to_string()), "{error}");
}

#[tokio::test]
async fn a_server_without_jetstream_is_named() {
    let setup = NatsSetup {
        jetstream: None,
        ..NatsSetup::default()
    };
    let Some(server) = NatsServer::with(&setup) else {
        return;
    };
    let error = connect(&ConnectionSettings::url(server.url()), "test")
        .await
        .unwrap_err();
    assert!(matches!(error, ConnectError::NoJetStream(_)), "{error}");
}

#[tokio::test]
async fn a_user_logs_in_with_a_password_from_a_file_or_from_the_address() {
    let config = r#"authorization { users: [ { user: alice, password: "s3cret" } ] }"#;
    let Some(server) = NatsServer::with_config(config) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| write(&folder, name, text);
    let with_password = |text: &str| ConnectionSettings {
        user: Some("alice".into()),
        password_file: Some(file("password", text)),
        ..ConnectionSettings::url(server.url())
    };
    connect(&with_password("s3cret\n"), "test").await.expect("in");
    let address = server.url().replace("nats://", "nats://alice:s3cret@");
    connect(&ConnectionSettings::url(address), "test")
        .await
        .expect("in");
    for settings in [with_password("wrong"), ConnectionSettings::url(server.url())] {
        let error = connect(&settings, "test").await.unwrap_err();
        assert!(matches!(error, ConnectError::Credentials { .. }), "{error}");
    }
}

#[tokio::test]
async fn an_nkey_logs_in_and_another_one_does_not() {
    let (known, unknown) = (nkeys::KeyPair::new_user(), nkeys::KeyPair::new_user());
    let config = format!(
        "authorization {{ users: [ {{ nkey: {} }} ] }}",
        known.public_key()
    );
    let Some(server) = NatsServer::with_config(config) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let with_seed = |name: &str, text: &str| ConnectionSettings {
        nkey: Some(write(&folder, name, text)),
        ..ConnectionSettings::url(server.url())
    };
    let seed = |key: &nkeys::KeyPair| key.seed().expect("a seed");
    connect(&with_seed("known", &seed(&known)), "test")
        .await
        .expect("in");
    let error = connect(&with_seed("unknown", &seed(&unknown)), "test")
        .await
        .unwrap_err();
    assert!(matches!(error, ConnectError::Credentials { .. }), "{error}");
    let error = connect(&with_seed("nonsense", "SUNONSENSE"), "test")
        .await
        .unwrap_err();
    assert!(matches!(error, ConnectError::File { .. }), "{error}");
}

#[tokio::test]
async fn tls_needs_the_right_authority_and_the_client_its_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let pki = Pki::new(&folder);
    let config = format!(
        "tls {{ cert_file: {0:?}, key_file: {1:?}, ca_file: {2:?}, verify: true }}",
        pki.server_cert, pki.server_key, pki.ca
    );
    let Some(server) = NatsServer::with_config(config) else {
        return;
    };
    let right = ConnectionSettings {
        ca: Some(pki.ca.clone()),
        cert: Some(pki.client_cert.clone()),
        key: Some(pki.client_key.clone()),
        ..ConnectionSettings::url(server.url())
    };
    connect(&right, "test").await.expect("in");
    let other = tempfile::tempdir().expect("a folder");
    let wrong_authority = ConnectionSettings {
        ca: Some(Pki::new(&other).ca),
        ..right.clone()
    };
    let no_certificate = ConnectionSettings {
        cert: None,
        key: None,
        ..right.clone()
    };
    for settings in [wrong_authority, no_certificate] {
        let error = connect(&settings, "test").await.unwrap_err();
        assert!(matches!(error, ConnectError::Tls { .. }), "{error:?}");
    }
    let no_file = ConnectionSettings {
        ca: Some("/nowhere/ca.pem".into()),
        ..right
    };
    let error = connect(&no_file, "test").await.unwrap_err();
    assert!(matches!(error, ConnectError::File { .. }), "{error}");
}

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).expect("a file");
    path
}

/// An authority, a server on 127.0.0.1 and a client.
struct Pki {
    ca: PathBuf,
    server_cert: PathBuf,
    server_key: PathBuf,
    client_cert: PathBuf,
    client_key: PathBuf,
}

impl Pki {
    fn new(folder: &TempDir) -> Self {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(authority, key).expect("an authority");
        let issue = |name: &str, host: &str| {
            let key = KeyPair::generate().expect("a key");
            let cert = CertificateParams::new(vec![host.to_owned()])
                .expect("a name")
                .signed_by(&key, &authority)
                .expect("a certificate");
            let cert = write(folder, &format!("{name}.pem"), &cert.pem());
            (cert, write(folder, &format!("{name}.key"), &key.serialize_pem()))
        };
        let (server_cert, server_key) = issue("server", "127.0.0.1");
        let (client_cert, client_key) = issue("client", "worker");
        Self {
            ca: write(folder, "ca.pem", &authority.pem()),
            server_cert,
            server_key,
            client_cert,
            client_key,
        }
    }
}
