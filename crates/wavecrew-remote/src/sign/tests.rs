use super::*;

const RUN: (&str, &str) = ("shop", "s1");
const SUBJECT: &str = "wavecrew.shop.to.vm-1.s1";

fn signed(identity: &Identity, run: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    RunKey::new(identity, "shop", run).sign(&mut headers, SUBJECT, b"start");
    headers
}

#[test]
fn a_message_of_a_trusted_run_holds() {
    let identity = Identity::generate();
    let mut trust = Trust::new([identity.public_key()]).unwrap();
    let headers = signed(&identity, "s1");
    for _ in 0..2 {
        assert_eq!(trust.check(RUN, Some(&headers), SUBJECT, b"start"), Ok(()));
    }
}

#[test]
fn whatever_was_changed_on_the_way_is_refused() {
    let identity = Identity::generate();
    let mut trust = Trust::new([identity.public_key()]).unwrap();
    let good = signed(&identity, "s1");
    let bad = Err(NotTrusted::BadSignature);
    assert_eq!(trust.check(RUN, Some(&good), SUBJECT, b"stop"), bad);
    let other_host = "wavecrew.shop.to.vm-2.s1";
    assert_eq!(trust.check(RUN, Some(&good), other_host, b"start"), bad);
    assert_eq!(
        trust.check(("bank", "s1"), Some(&good), SUBJECT, b"start"),
        Err(NotTrusted::OtherRun)
    );
    assert_eq!(
        trust.check(("shop", "s2"), Some(&good), SUBJECT, b"start"),
        Err(NotTrusted::OtherRun)
    );
    for name in [SIGNATURE, CERTIFICATE_SIGNATURE] {
        for value in ["", "00", "zz", &"0".repeat(128), "ü"] {
            let mut headers = good.clone();
            headers.insert(name, value);
            let mut fresh = Trust::new([identity.public_key()]).unwrap();
            assert_eq!(
                fresh.check(RUN, Some(&headers), SUBJECT, b"start"),
                bad,
                "{name}: {value}"
            );
        }
    }
    // Another key in somebody's certificate.
    let mut headers = good.clone();
    let thief = Identity::generate();
    let text = good.get(CERTIFICATE).unwrap().as_str();
    let mut certificate: Certificate = serde_json::from_str(text).unwrap();
    certificate.key = thief.public_key();
    let own = serde_json::to_string(&certificate).unwrap();
    headers.insert(CERTIFICATE, own.as_str());
    headers.insert(
        SIGNATURE,
        sign(thief.pair(), FOR_MESSAGES, SUBJECT, b"start").as_str(),
    );
    assert_eq!(trust.check(RUN, Some(&headers), SUBJECT, b"start"), bad);
    assert_eq!(trust.check(RUN, Some(&good), SUBJECT, b"start"), Ok(()));
    assert_eq!(trust.check(RUN, Some(&headers), SUBJECT, b"start"), bad);
}

#[test]
fn strangers_and_unsigned_messages_are_refused() {
    let (friend, stranger) = (Identity::generate(), Identity::generate());
    let mut trust = Trust::new([friend.public_key()]).unwrap();
    let refused = trust
        .check(RUN, Some(&signed(&stranger, "s1")), SUBJECT, b"start")
        .unwrap_err();
    assert_eq!(refused.stranger(), Some(stranger.public_key().as_str()));
    for headers in [None, Some(&HeaderMap::new())] {
        assert_eq!(
            trust.check(RUN, headers, SUBJECT, b"start"),
            Err(NotTrusted::NotSigned)
        );
    }
    assert_eq!(
        Trust::new(["UNONSENSE".to_owned()]).map(drop),
        Err("UNONSENSE".to_owned())
    );
}

#[test]
fn an_identity_is_made_once_and_nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/identity.nk");
    let first = Identity::load_or_create(&path).unwrap();
    let again = Identity::load_or_create(&path).unwrap();
    assert_eq!(first.public_key(), again.public_key());
    let mode = |bits| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(bits)).unwrap();
    mode(0o644);
    assert!(matches!(
        Identity::load_or_create(&path),
        Err(IdentityError::NotPrivate(_))
    ));
    mode(0o600);
    std::fs::write(&path, "SUNONSENSE").unwrap();
    assert!(matches!(
        Identity::load_or_create(&path),
        Err(IdentityError::NotAKey { .. })
    ));
    let names: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1);
}
