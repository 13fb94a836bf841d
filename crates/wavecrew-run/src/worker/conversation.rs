//! The conversation of a worker with its agent: how it is named, recorded, resumed, and started again if it is lost.

use super::turn_end::process_end;
use crate::event_loop::{DriveError, Driver};
use std::fs;
use wavecrew_agents::ResumeBy;
use wavecrew_agents::launch::Conversation;
use wavecrew_agents::stream::{Expects, FailKind};
use wavecrew_core::engine::{Input, WorkerId};
use wavecrew_process::ProcessExit;
use wavecrew_session::{SessionError, random_name};

/// The worker's conversation with its agent.
pub struct WorkerConversation {
    /// The id for a new conversation.
    new_id: String,
    /// The conversation to resume.
    id: Option<String>,
    /// A former attempt started it, so the agent may have lost it.
    pub inherited: bool,
    /// Its id is in the journal.
    pub recorded: bool,
}

impl WorkerConversation {
    pub fn new(new_id: String, resume: Option<String>) -> Self {
        Self {
            new_id,
            inherited: resume.is_some(),
            id: resume,
            recorded: false,
        }
    }

    pub fn for_next_turn(&self) -> Conversation<'_> {
        match &self.id {
            Some(id) => Conversation::Resume { id },
            None => Conversation::New { id: &self.new_id },
        }
    }

    /// The conversation exists: under the id that the agent reported, or under the one that it was given.
    pub fn started(&mut self, memory: ResumeBy, reported: Option<&str>) {
        match (reported, memory) {
            (Some(id), ResumeBy::OurId | ResumeBy::ItsId) => self.id = Some(id.to_owned()),
            (None, ResumeBy::OurId) if self.id.is_none() => self.id = Some(self.new_id.clone()),
            (_, ResumeBy::Never) | (None, ResumeBy::OurId | ResumeBy::ItsId) => {}
        }
    }

    /// The agent does not know the conversation: the next turn starts a new one.
    pub fn lost(&mut self) {
        (self.id, self.inherited, self.recorded) = (None, false, false);
    }
}

impl Driver<'_> {
    /// Records the conversations that agents have named since the last call.
    pub(crate) fn record_conversations(&mut self) {
        let unrecorded = self
            .workers
            .iter()
            .filter(|(_, state)| !state.conversation.recorded);
        let remembering = unrecorded.filter(|(_, state)| state.agent.resume_by() != ResumeBy::Never);
        let workers: Vec<WorkerId> = remembering.map(|(worker, _)| *worker).collect();
        for worker in workers {
            self.record_conversation(worker);
        }
    }

    /// Reports the conversation to the engine once the agent has named it.
    pub(super) fn record_conversation(&mut self, worker: WorkerId) {
        let Some(state) = self.workers.get_mut(&worker) else {
            return;
        };
        let memory = state.agent.resume_by();
        if memory == ResumeBy::Never || state.conversation.recorded {
            return;
        }
        if let Some((conversation, model, version)) = state.output.conversation() {
            state.conversation.started(memory, Some(&conversation));
            state.conversation.recorded = true;
            self.inputs.push_back(Input::ConversationStarted {
                worker,
                conversation,
                model,
                version,
            });
        } else if state.alive.is_empty() {
            state.conversation.started(memory, None);
        }
    }

    /// Starts a new conversation with the same message if the agent has lost the one of a former attempt. Returns whether
    /// it did.
    pub(super) fn restart_lost_conversation(
        &mut self,
        worker: WorkerId,
        exit: ProcessExit,
    ) -> Result<bool, DriveError> {
        let state = self.workers.get_mut(&worker).expect("callers looked it up");
        if !state.conversation.inherited || state.closing.is_some() {
            return Ok(false);
        }
        // Only once.
        state.conversation.inherited = false;
        let outcome = state.output.outcome(process_end(exit), Expects::Nothing);
        let failure = outcome.and_then(|outcome| outcome.failure);
        if failure.is_none_or(|failure| failure.kind != FailKind::NoConversation) {
            return Ok(false);
        }
        let (id, attempt) = (&state.assignment.id, state.assignment.attempt);
        let Ok(message) = fs::read_to_string(self.session.dir.prompt_file(id, attempt, 1)) else {
            return Ok(false);
        };
        state.conversation.lost();
        state.output.start_turn();
        self.start_turn(worker, 1, &message)?;
        Ok(true)
    }
}

/// A random id for a conversation, in the form of a UUID.
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
