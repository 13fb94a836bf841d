//! The tools of agents: a line that describes a call, and the file that it writes.

use serde_json::Value;
use wavecrew_core::view::clipped;

/// Which arguments of an agent's tools name a command or a file.
#[derive(Debug)]
pub(crate) struct ToolArguments {
    /// Arguments that describe a call, the best first.
    pub summary: &'static [&'static str],
    /// Tools that write a file, with the argument that names it.
    pub writers: &'static [(&'static str, &'static str)],
}

/// Running calls that write a file if they succeed.
#[derive(Debug, Default)]
pub(crate) struct OpenTools(Vec<(String, String)>);

impl OpenTools {
    /// Remembers the call and describes it.
    pub(crate) fn open(&mut self, tools: &ToolArguments, id: &str, name: &str, input: &Value) -> String {
        let writer = tools.writers.iter().find(|(tool, _)| *tool == name);
        if let Some(path) = writer.and_then(|(_, argument)| input[argument].as_str()) {
            self.0.push((id.to_owned(), path.to_owned()));
        }
        tools
            .summary
            .iter()
            .find_map(|argument| input[argument].as_str())
            .map_or_else(|| brief(&input.to_string()), brief)
    }

    /// The file that the call wrote.
    pub(crate) fn close(&mut self, id: &str) -> Option<String> {
        let at = self.0.iter().position(|(open, _)| open == id)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// The first line, at most 160 characters.
pub(crate) fn brief(text: &str) -> String {
    clipped(text.trim().lines().next().unwrap_or_default(), 160)
}
