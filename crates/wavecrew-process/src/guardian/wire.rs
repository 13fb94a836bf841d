//! The messages between coordinator and guardian: the worker's key, then JSON. Both ends are the same program, so there is
//! one version; the guardian's first answer carries it in case the program was replaced in between.

use std::ffi::OsString;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Containment;
use crate::ProcessExit;
use crate::sandbox::Confinement;

pub const VERSION: u32 = 5;
/// The key comes first and has a fixed length: it names the worker even when the rest of a packet is lost.
pub const KEY_LENGTH: usize = size_of::<u64>();

/// What the coordinator requests for the worker with a key. The three standard streams of a spawn are passed
/// as descriptors.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    Spawn(Box<ProgramSpec>),
    Close { grace: Duration },
}

/// A [`Spawn`](crate::Spawn) without its streams.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramSpec {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: OsString,
    pub env_set: Vec<(OsString, OsString)>,
    pub env_remove: Vec<OsString>,
    pub confinement: Option<NumberedConfinement>,
}

/// A confinement. Its rules are long, so they are sent once; later spawns name it by its number.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedConfinement {
    pub number: u64,
    pub rules: Option<Confinement>,
}

/// What the guardian answers about the worker with a key; `Ready` is about the guardian itself.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    Ready {
        version: u32,
        process: ReportedProcess,
        containment: Containment,
    },
    Spawned(ReportedProcess),
    SpawnFailed {
        errno: i32,
    },
    Exited {
        status: ProcessExit,
        leftovers: u32,
    },
}

/// A process, with the number that the coordinator sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedProcess {
    /// 0 if it has ended before its number was known.
    pub pid: i32,
    pub start_time: u64,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the guardian's socket received data that is not a message")]
pub struct Malformed;

pub fn encode(key: u64, message: &impl Serialize) -> Vec<u8> {
    let mut bytes = key.to_le_bytes().to_vec();
    serde_json::to_writer(&mut bytes, message)
        .expect("messages are plain data, and a vector takes every byte");
    bytes
}

pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<(u64, T), Malformed> {
    let key = decode_key(bytes)?;
    let message = serde_json::from_slice(&bytes[KEY_LENGTH..]).map_err(|_| Malformed)?;
    Ok((key, message))
}

/// The key of a message of which only the beginning arrived.
pub fn decode_key(bytes: &[u8]) -> Result<u64, Malformed> {
    let key = bytes.first_chunk().ok_or(Malformed)?;
    Ok(u64::from_le_bytes(*key))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn requests_are_read_back_and_truncated_ones_are_refused() {
        let spec = ProgramSpec {
            program: "agent".into(),
            args: vec!["".into(), OsString::from_vec(vec![0xff, 0x20])],
            cwd: "/somewhere".into(),
            env_set: vec![("A".into(), "1=2\n".into())],
            env_remove: vec!["B".into()],
            confinement: Some(NumberedConfinement {
                number: 7,
                rules: Some(Confinement::default()),
            }),
        };
        let grace = Duration::from_millis(1500);
        for request in [Request::Spawn(Box::new(spec)), Request::Close { grace }] {
            let bytes = encode(u64::MAX, &request);
            assert_eq!(decode(&bytes), Ok((u64::MAX, request)));
            for length in 0..bytes.len() {
                assert_eq!(decode::<Request>(&bytes[..length]), Err(Malformed));
            }
        }
    }

    #[test]
    fn answers_are_read_back() {
        let exited = |status| Answer::Exited { status, leftovers: 4 };
        for answer in [
            Answer::Ready {
                version: VERSION,
                process: ReportedProcess {
                    pid: 2,
                    start_time: 3,
                },
                containment: Containment::Namespace,
            },
            Answer::Spawned(ReportedProcess {
                pid: 2,
                start_time: 3,
            }),
            Answer::SpawnFailed { errno: 2 },
            exited(ProcessExit::Code(3)),
            exited(ProcessExit::Signal(9)),
        ] {
            assert_eq!(decode(&encode(1, &answer)), Ok((1, answer)));
        }
        assert_eq!(decode::<Answer>(b"12345678?"), Err(Malformed));
    }
}
