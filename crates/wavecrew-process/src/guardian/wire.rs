//! The messages between coordinator and guardian, as bytes. Both ends are the same program, so there is one version; the
//! greeting carries it in case the program was replaced in between.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use crate::ProcessExit;

pub const VERSION: u32 = 1;

/// What the coordinator asks. The three standard streams of a spawn travel beside it.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    Spawn { key: u64, order: Order },
    Close { key: u64, grace: Duration },
}

/// A spawn without its streams.
#[derive(Debug, PartialEq, Eq)]
pub struct Order {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub env_set: Vec<(OsString, OsString)>,
    pub env_remove: Vec<OsString>,
}

/// What the guardian answers.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    Ready {
        version: u32,
        start_time: u64,
    },
    Spawned {
        key: u64,
        pid: i32,
        start_time: u64,
    },
    SpawnFailed {
        key: u64,
        errno: i32,
    },
    Exited {
        key: u64,
        status: ProcessExit,
        leftovers: u32,
    },
}

/// The bytes are not a message.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the guardian's socket carried something that is not a message")]
pub struct Malformed;

impl Request {
    /// The length of the head: a tag and a key.
    pub const HEAD: usize = 9;

    /// The key of a request of which only the head is known.
    pub fn key(head: &[u8]) -> Result<u64, Malformed> {
        let mut input = Reader(head);
        input.tag()?;
        input.u64()
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer(Vec::with_capacity(512));
        match self {
            Self::Spawn { key, order } => {
                out.tag(b'S')
                    .u64(*key)
                    .text(&order.program)
                    .list(&order.args, Writer::text);
                out.text(order.cwd.as_os_str());
                out.list(&order.env_set, |out, (name, value)| out.text(name).text(value));
                out.list(&order.env_remove, Writer::text);
            }
            Self::Close { key, grace } => {
                let millis = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
                out.tag(b'C').u64(*key).u64(millis);
            }
        }
        out.0
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut input = Reader(bytes);
        match input.tag()? {
            b'S' => {
                let key = input.u64()?;
                let order = Order {
                    program: input.text()?,
                    args: input.list(Reader::text)?,
                    cwd: input.text()?.into(),
                    env_set: input.list(|i| Ok((i.text()?, i.text()?)))?,
                    env_remove: input.list(Reader::text)?,
                };
                Ok(Self::Spawn { key, order })
            }
            b'C' => Ok(Self::Close {
                key: input.u64()?,
                grace: Duration::from_millis(input.u64()?),
            }),
            _ => Err(Malformed),
        }
    }
}

impl Answer {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer(Vec::with_capacity(32));
        match *self {
            Self::Ready { version, start_time } => out.tag(b'R').u64(version.into()).u64(start_time),
            Self::Spawned { key, pid, start_time } => out.tag(b's').u64(key).i32(pid).u64(start_time),
            Self::SpawnFailed { key, errno } => out.tag(b'f').u64(key).i32(errno),
            Self::Exited {
                key,
                status: ProcessExit::Code(code),
                leftovers,
            } => out.tag(b'e').u64(key).i32(code).u64(leftovers.into()),
            Self::Exited {
                key,
                status: ProcessExit::Signal(signal),
                leftovers,
            } => out.tag(b'k').u64(key).i32(signal).u64(leftovers.into()),
        };
        out.0
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut input = Reader(bytes);
        let tag = input.tag()?;
        let key = input.u64()?;
        Ok(match tag {
            b'R' => Self::Ready {
                version: u32::try_from(key).map_err(|_| Malformed)?,
                start_time: input.u64()?,
            },
            b's' => Self::Spawned {
                key,
                pid: input.i32()?,
                start_time: input.u64()?,
            },
            b'f' => Self::SpawnFailed {
                key,
                errno: input.i32()?,
            },
            b'e' => Self::Exited {
                key,
                status: ProcessExit::Code(input.i32()?),
                leftovers: input.count()?,
            },
            b'k' => Self::Exited {
                key,
                status: ProcessExit::Signal(input.i32()?),
                leftovers: input.count()?,
            },
            _ => return Err(Malformed),
        })
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn tag(&mut self, tag: u8) -> &mut Self {
        self.0.push(tag);
        self
    }

    fn u64(&mut self, n: u64) -> &mut Self {
        self.0.extend(n.to_le_bytes());
        self
    }

    fn i32(&mut self, n: i32) -> &mut Self {
        self.0.extend(n.to_le_bytes());
        self
    }

    fn text(&mut self, text: impl AsRef<OsStr>) -> &mut Self {
        let bytes = text.as_ref().as_bytes();
        self.u64(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn list<'a, T>(
        &mut self,
        items: &'a [T],
        mut one: impl for<'w> FnMut(&'w mut Self, &'a T) -> &'w mut Self,
    ) {
        self.u64(items.len() as u64);
        for item in items {
            one(self, item);
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, n: usize) -> Result<&[u8], Malformed> {
        let (head, tail) = self.0.split_at_checked(n).ok_or(Malformed)?;
        self.0 = tail;
        Ok(head)
    }

    fn tag(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        let bytes = self.take(8)?.try_into().map_err(|_| Malformed)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn i32(&mut self) -> Result<i32, Malformed> {
        let bytes = self.take(4)?.try_into().map_err(|_| Malformed)?;
        Ok(i32::from_le_bytes(bytes))
    }

    fn count(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.u64()?).map_err(|_| Malformed)
    }

    fn text(&mut self) -> Result<OsString, Malformed> {
        let n = usize::try_from(self.u64()?).map_err(|_| Malformed)?;
        Ok(OsString::from_vec(self.take(n)?.to_vec()))
    }

    fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let n = self.u64()?;
        (0..n).map(|_| one(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_wire() {
        let order = Order {
            program: "agent".into(),
            args: vec!["".into(), OsString::from_vec(vec![0xff, 0x20])],
            cwd: "/somewhere".into(),
            env_set: vec![("A".into(), "1=2\n".into())],
            env_remove: vec!["B".into()],
        };
        for request in [
            Request::Spawn { key: 7, order },
            Request::Close {
                key: u64::MAX,
                grace: Duration::from_millis(1500),
            },
        ] {
            let bytes = request.encode();
            assert_eq!(Request::decode(&bytes), Ok(request));
            for end in 0..bytes.len() {
                assert_eq!(Request::decode(&bytes[..end]), Err(Malformed));
            }
        }
    }

    #[test]
    fn answers_survive_the_wire() {
        for answer in [
            Answer::Ready {
                version: VERSION,
                start_time: 3,
            },
            Answer::Spawned {
                key: 1,
                pid: 2,
                start_time: 3,
            },
            Answer::SpawnFailed { key: 1, errno: 2 },
            Answer::Exited {
                key: 1,
                status: ProcessExit::Code(3),
                leftovers: 0,
            },
            Answer::Exited {
                key: 1,
                status: ProcessExit::Signal(9),
                leftovers: 4,
            },
        ] {
            assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
        }
        assert_eq!(Answer::decode(b"?12345678"), Err(Malformed));
    }
}
