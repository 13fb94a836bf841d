//! Workers on other hosts, over NATS JetStream: the [`connect`]ion, the [`names`] of subjects, streams and buckets, the
//! messages on the [`wire`], the [`lease`] of an attempt, and who may [`sign`] what
//! a host executes. Starts no process and knows no session folder.

pub mod connect;
pub mod lease;
pub mod names;
pub mod replica;
pub mod sign;
pub mod wire;
