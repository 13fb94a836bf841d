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
    let more = br#"{"kind":"reply","attempt":{"run":"s1","task":"T-1","attempt":2,"token":"abc","new":1},"turn":1,"number":7,"reply":null,"x":[]}"#;
    let known = ToHost::Reply {
        attempt: attempt(),
        turn: 1,
        number: 7,
        reply: serde_json::Value::Null,
    };
    assert_eq!(decode::<ToHost>(more).map(|found| found.0), Ok(known));
    let refusal = serde_json::from_str::<Refusal>(r#"{"why":"moon","phase":3}"#);
    assert_eq!(refusal.ok(), Some(Refusal::Other));
}

#[test]
fn a_truncated_message_is_an_error() {
    let bytes = encode(&FromHost::Lost { attempt: attempt() }, b"");
    for length in 0..bytes.len() {
        assert!(decode::<FromHost>(&bytes[..length]).is_err());
    }
}

#[test]
fn a_bundle_gives_back_its_messages_in_order() {
    let lost = encode(&FromHost::Lost { attempt: attempt() }, b"");
    let output = FromHost::Output {
        attempt: attempt(),
        turn: 1,
        stream: OutputStream::Stderr,
        offset: 0,
    };
    let output = encode(&output, b"[1]\n\n");
    for messages in [vec![lost.clone()], vec![output.clone(), lost, output]] {
        let bytes = bundle(&messages);
        assert_eq!(unbundle(&bytes).unwrap(), messages);
        if messages.len() > 1 {
            for length in 1..bytes.len() {
                assert!(unbundle(&bytes[..length]).is_err());
            }
        }
    }
}
