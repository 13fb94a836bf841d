use super::*;

fn attempt() -> AttemptToken {
    AttemptToken {
        run: "s1".into(),
        task: "T-1".into(),
        attempt: 2,
        token: "abc".into(),
    }
}

#[test]
fn a_message_and_its_bytes_are_read_back() {
    let output = FromHost::Output {
        attempt: attempt(),
        turn: 1,
        stream: OutputStream::Stdout,
        offset: 7,
    };
    let bytes = encode(&output, b"a\nb\0\xff");
    assert_eq!(decode(&bytes), Ok((output, &b"a\nb\0\xff"[..])));
    let close = ToHost::Close {
        attempt: attempt(),
        turn: 1,
        grace: Duration::from_millis(1500),
    };
    assert_eq!(decode(&encode(&close, b"")), Ok((close, &b""[..])));
}

#[test]
fn messages_of_a_newer_program_are_understood_as_far_as_they_are_known() {
    let newer = br#"{"kind":"dance","attempt":{}}"#;
    assert_eq!(decode::<ToHost>(newer).map(|found| found.0), Ok(ToHost::Unknown));
    assert_eq!(
        decode::<FromHost>(newer).map(|found| found.0),
        Ok(FromHost::Unknown)
    );
    let more = br#"{"kind":"acknowledge","attempt":{"run":"s1","task":"T-1","attempt":2,"token":"abc","new":1},"x":[]}"#;
    let known = ToHost::Acknowledge { attempt: attempt() };
    assert_eq!(decode::<ToHost>(more).map(|found| found.0), Ok(known));
    let refusal = serde_json::from_str::<Refusal>(r#"{"why":"moon","phase":3}"#);
    assert_eq!(refusal.ok(), Some(Refusal::Other));
}

#[test]
fn a_truncated_message_is_an_error() {
    let bytes = encode(&ToHost::Acknowledge { attempt: attempt() }, b"");
    for length in 0..bytes.len() {
        assert!(decode::<ToHost>(&bytes[..length]).is_err());
    }
}
