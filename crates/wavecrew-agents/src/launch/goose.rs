//! goose: the prompt from stdin by `-i -`, sessions by a name of our choice, MCP servers as extensions that are named
//! after their program. It knows no mode that reads and does not write, so every role gets the same tools.

use super::{Conversation, Launch, Request};

pub(super) fn prepare(request: &Request, launch: &mut Launch) {
    launch.args([
        "run",
        "-q",
        "--output-format",
        "stream-json",
        "--with-builtin",
        "developer",
    ]);
    match request.conversation {
        Conversation::New { id } => launch.args(["--name", id]),
        Conversation::Resume { id } => launch.args(["--name", id, "--resume"]),
    }
    if let Some(model) = request.model {
        launch.args(["--model", model]);
    }
    if let Some(server) = request.mcp {
        let words = std::iter::once(&server.command)
            .chain(&server.args)
            .map(String::as_str);
        let command = shlex::try_join(words).unwrap_or_else(|_| server.command.clone());
        launch.args(["--with-extension", &command]);
        launch.env.extend_from_slice(&server.env);
    }
    launch.args(["-i", "-"]);
    launch.env([("GOOSE_MODE", "auto")]);
}
