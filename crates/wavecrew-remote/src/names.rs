//! The names of all subjects, streams and buckets. Each contains the project's name, so that the permissions
//! of a NATS account can be limited to one project. docs/reference/remote.md lists them.

use xxhash_rust::xxh3::xxh3_64;

/// The names of one project. Everything that builds a subject by hand is a bug.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Names {
    project: String,
}

impl Names {
    /// `project` is any text: what NATS does not allow in a name is replaced.
    pub fn new(project: &str) -> Self {
        Self {
            project: token(project),
        }
    }

    pub fn project(&self) -> &str {
        &self.project
    }

    /// Stream of what coordinators send to hosts.
    pub fn work_stream(&self) -> String {
        format!("wavecrew-{}-work", self.project)
    }

    /// The subjects of the stream of work.
    pub fn all_work(&self) -> String {
        format!("wavecrew.{}.to.>", self.project)
    }

    /// The subjects that one host reads.
    pub fn work_of_host(&self, host: &str) -> String {
        format!("wavecrew.{}.to.{}.>", self.project, token(host))
    }

    /// From the coordinator of a run to a host.
    pub fn to_host(&self, host: &str, run: &str) -> String {
        format!("wavecrew.{}.to.{}.{}", self.project, token(host), token(run))
    }

    /// The subjects of everything that a run has sent to hosts.
    pub fn work_of_run(&self, run: &str) -> String {
        format!("wavecrew.{}.to.*.{}", self.project, token(run))
    }

    /// Stream of what hosts report. Messages stay, also without a coordinator, until the journal has their
    /// outcome.
    pub fn result_stream(&self) -> String {
        format!("wavecrew-{}-results", self.project)
    }

    /// The subjects of the stream of results.
    pub fn all_results(&self) -> String {
        format!("wavecrew.{}.from.>", self.project)
    }

    /// The subjects that the coordinator of a run reads.
    pub fn results_of_run(&self, run: &str) -> String {
        format!("wavecrew.{}.from.*.{}.*", self.project, token(run))
    }

    /// From a host to the coordinator of a run, about one offer.
    pub fn from_host(&self, host: &str, run: &str, offer: &str) -> String {
        let (host, run, offer) = (token(host), token(run), token(offer));
        format!("wavecrew.{}.from.{host}.{run}.{offer}", self.project)
    }

    /// Stream of the journals of sessions with `--journal nats`.
    pub fn journal_stream(&self) -> String {
        format!("wavecrew-{}-journal", self.project)
    }

    pub fn all_journals(&self) -> String {
        format!("wavecrew.{}.journal.*", self.project)
    }

    pub fn journal(&self, run: &str) -> String {
        format!("wavecrew.{}.journal.{}", self.project, token(run))
    }

    /// Stream of the other files of those sessions. Each subject holds its last message only.
    pub fn session_stream(&self) -> String {
        format!("wavecrew-{}-sessions", self.project)
    }

    pub fn all_session_files(&self) -> String {
        format!("wavecrew.{}.session.>", self.project)
    }

    /// The list of a session's files.
    pub fn session_files(&self, run: &str) -> String {
        format!("wavecrew.{}.session.{}.files", self.project, token(run))
    }

    /// A piece of a session's file, by its hash.
    pub fn session_piece(&self, run: &str, hash: &str) -> String {
        format!("wavecrew.{}.session.{}.piece.{hash}", self.project, token(run))
    }

    /// Bucket of announcements: one key per host.
    pub fn host_bucket(&self) -> String {
        format!("wavecrew-{}-hosts", self.project)
    }

    pub fn host_key(host: &str) -> String {
        token(host)
    }

    /// Bucket of leases: one key per attempt.
    pub fn lease_bucket(&self) -> String {
        format!("wavecrew-{}-leases", self.project)
    }

    /// The host comes first, so that the permissions of a host can cover only its own leases.
    pub fn lease_key(host: &str, run: &str, attempt: &str) -> String {
        format!("{}.{}.{}", token(host), token(run), token(attempt))
    }

    /// The keys of all leases of a run, for a watch.
    pub fn leases_of_run(run: &str) -> String {
        format!("*.{}.*", token(run))
    }

    /// Bucket of coordinators: one key per session. Its holder runs the session.
    pub fn coordinator_bucket(&self) -> String {
        format!("wavecrew-{}-coordinators", self.project)
    }

    pub fn coordinator_key(run: &str) -> String {
        token(run)
    }

    /// Stream of the pieces of files: content-addressed, one message per piece.
    pub fn object_stream(&self) -> String {
        format!("wavecrew-{}-objects", self.project)
    }

    pub fn all_objects(&self) -> String {
        format!("wavecrew.{}.object.*", self.project)
    }

    /// The piece with this hash.
    pub fn object(&self, id: &str) -> String {
        format!("wavecrew.{}.object.{}", self.project, token(id))
    }
}

/// A text as one token of a subject, a key and a stream's name: letters, digits, `-` and `_`. Different texts stay
/// different: one that had to be changed ends with a hash of itself.
pub fn token(text: &str) -> String {
    const LONGEST: usize = 64;
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !text.is_empty() && text.len() <= LONGEST && text.chars().all(allowed) {
        return text.to_owned();
    }
    let slug: String = text
        .chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .take(LONGEST)
        .collect();
    format!("{slug}_{:016x}", xxh3_64(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_two_projects_have_nothing_in_common() {
        let (one, other) = (Names::new("shop"), Names::new("bank"));
        assert_eq!(one.to_host("vm-1", "s1"), "wavecrew.shop.to.vm-1.s1");
        assert_eq!(
            one.from_host("vm-1", "s1", "t-1"),
            "wavecrew.shop.from.vm-1.s1.t-1"
        );
        assert_ne!(one.work_stream(), other.work_stream());
        assert!(!other.all_work().contains("shop"));
    }

    #[test]
    fn a_token_has_no_character_of_nats_syntax_and_differs_where_texts_differ() {
        for text in [
            "",
            "a.b",
            "a b",
            "a*b",
            "a>b",
            "ü",
            "../x",
            &"x".repeat(300),
            &"x".repeat(301),
        ] {
            let token = token(text);
            assert!(
                token.len() < 100 && !token.contains(['.', '*', '>', ' ', '/']),
                "{token}"
            );
        }
        assert_ne!(token("a.b"), token("a_b"));
        assert_ne!(token(&"x".repeat(300)), token(&"x".repeat(301)));
        assert_eq!(token("vm-1_a"), "vm-1_a");
    }
}
