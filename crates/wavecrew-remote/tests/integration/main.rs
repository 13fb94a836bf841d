//! The connection, the lease and the journal against a real NATS server. Needs `scripts/install-nats.sh`;
//! `WAVECREW_SKIP_REMOTE=1` skips these tests.

mod connecting;
mod replica;
mod simulation;
