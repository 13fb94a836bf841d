//! Conversations that agents remember: how they are named, and one that is lost is begun anew.

use super::turn_end::end_of;
use super::{DriveError, Driver};
use std::fs;
use wavecrew_agents::Memory;
use wavecrew_agents::stream::{Expects, FailKind};
use wavecrew_core::engine::{Input, WorkerId};
use wavecrew_process::Exit as ProcessExit;
use wavecrew_session::{SessionError, random_name};

impl Driver<'_> {
    /// Looks whether agents have named their conversations.
    pub(super) fn note_conversations(&mut self) {
        let untold = self.workers.iter().filter(|(_, state)| !state.talk.told);
        let remembering = untold.filter(|(_, state)| state.agent.memory() != Memory::None);
        let workers: Vec<WorkerId> = remembering.map(|(worker, _)| *worker).collect();
        for worker in workers {
            self.note_conversation(worker);
        }
    }

    /// Tells the engine of the conversation once the agent has named it.
    pub(super) fn note_conversation(&mut self, worker: WorkerId) {
        let Some(state) = self.workers.get_mut(&worker) else {
            return;
        };
        let memory = state.agent.memory();
        if memory == Memory::None || state.talk.told {
            return;
        }
        let told = state.output.conversation();
        if let Some((conversation, model, version)) = told {
            state.talk.begun(memory, Some(&conversation));
            state.talk.told = true;
            self.inputs.push_back(Input::ConversationStarted {
                worker,
                conversation,
                model,
                version,
            });
        } else if state.alive.is_empty() {
            state.talk.begun(memory, None);
        }
    }

    /// A conversation of a former attempt that is not there any more is begun anew, with the same message.
    pub(super) fn begin_again(&mut self, worker: WorkerId, exit: ProcessExit) -> Result<bool, DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        if !state.talk.inherited || state.closing.is_some() {
            return Ok(false);
        }
        // It has had its one chance.
        state.talk.inherited = false;
        let outcome = state.output.outcome(end_of(exit), Expects::Nothing);
        let failure = outcome.and_then(|outcome| outcome.failure);
        if failure.is_none_or(|failure| failure.kind != FailKind::NoConversation) {
            return Ok(false);
        }
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let Ok(message) = fs::read_to_string(self.session.dir.prompt_file(id, attempt, 1)) else {
            return Ok(false);
        };
        state.talk.lost();
        state.output.new_turn();
        self.start_turn(worker, 1, &message)?;
        Ok(true)
    }
}

/// An id for a conversation: random, in the form of a UUID.
pub fn conversation_id() -> Result<String, SessionError> {
    let hex = random_name()?;
    Ok(format!(
        "{}-{}-4{}-a{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    ))
}
