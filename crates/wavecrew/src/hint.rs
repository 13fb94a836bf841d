//! Commands that messages suggest. They repeat the `-C DIR` that was given, so that they work when pasted.

use crate::project;

/// The command `wavecrew ARGS`.
pub fn command(args: &str) -> String {
    format!("{} {args}", program())
}

/// `wavecrew`, with the folder that was given.
pub fn program() -> String {
    program_in(project::given_dir())
}

/// A message of another crate, with the folder in each command that it suggests.
pub fn complete(message: &str) -> String {
    message.replace("`wavecrew ", &format!("`{} ", program()))
}

fn program_in(dir: Option<&str>) -> String {
    match dir {
        None => "wavecrew".to_owned(),
        // Only a NUL byte cannot be quoted, and no folder's name has one.
        Some(dir) => format!("wavecrew -C {}", shlex::try_quote(dir).unwrap_or(dir.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_repeated_and_quoted() {
        assert_eq!(program_in(None), "wavecrew");
        assert_eq!(program_in(Some("sub/dir")), "wavecrew -C sub/dir");
        assert_eq!(program_in(Some("my dir")), "wavecrew -C 'my dir'");
    }
}
