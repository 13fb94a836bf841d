//! The hosts that a coordinator knows, and which of them can run a worker.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use wavecrew_agents::cli;
use wavecrew_remote::wire::{HostAnnouncement, WIRE_VERSION};
use wavecrew_run::agent_name::OFFLINE;
use wavecrew_run::place::Wanted;

/// A host without an announcement for this long gets no new work.
pub const SILENT_AFTER: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct Known {
    announced: HostAnnouncement,
    /// When its announcement arrived.
    heard: Instant,
    /// Unfinished turns that this coordinator has sent to it.
    ours: u32,
    /// It refused for lack of a slot, so it counts as full until its next announcement.
    full: bool,
}

/// Hosts by name.
#[derive(Debug, Default)]
pub struct Directory {
    /// The run of this coordinator.
    run: String,
    hosts: BTreeMap<String, Known>,
    /// Turns of this coordinator that no host has yet.
    pub waiting: usize,
    /// Tasks of which an earlier coordinator left a turn at a host, with its attempt.
    pub left_behind: BTreeMap<String, u32>,
}

impl Directory {
    pub fn of_run(run: &str) -> Self {
        Self {
            run: run.to_owned(),
            ..Self::default()
        }
    }

    /// The free slots: those used by other runs are announced, those used by this run are known without
    /// delay.
    fn free(&self, known: &Known) -> u32 {
        let announced = &known.announced;
        let of_this_run = announced.runs.get(&self.run).copied().unwrap_or(0);
        let others = announced.busy.saturating_sub(of_this_run);
        announced.slots.saturating_sub(others + known.ours)
    }

    pub fn announced(&mut self, announced: HostAnnouncement) {
        let heard = Instant::now();
        let ours = self.hosts.get(&announced.host).map_or(0, |known| known.ours);
        let host = announced.host.clone();
        self.hosts.insert(
            host,
            Known {
                announced,
                heard,
                ours,
                full: false,
            },
        );
    }

    pub fn host_left(&mut self, key: &str) {
        self.hosts
            .retain(|host, _| wavecrew_remote::names::Names::host_key(host) != key);
    }

    pub fn assigned(&mut self, host: &str) {
        if let Some(known) = self.hosts.get_mut(host) {
            known.ours += 1;
        }
    }

    pub fn released(&mut self, host: &str) {
        if let Some(known) = self.hosts.get_mut(host) {
            known.ours = known.ours.saturating_sub(1);
        }
    }

    pub fn refused(&mut self, host: &str) {
        if let Some(known) = self.hosts.get_mut(host) {
            known.full = true;
        }
    }

    /// Whether a host is alive.
    pub fn is_alive(&self, host: &str) -> bool {
        self.hosts
            .get(host)
            .is_some_and(|known| known.heard.elapsed() < SILENT_AFTER)
    }

    /// The latest announced start of a host's program.
    pub fn boot(&self, host: &str) -> Option<&str> {
        self.hosts.get(host).map(|known| known.announced.boot.as_str())
    }

    /// The host with the most free slots for such a worker. With `only`, no other host is considered.
    pub fn choose(&self, wanted: &Wanted, only: Option<&str>) -> Option<String> {
        let usable = self.hosts.values().filter(|known| {
            only.is_none_or(|only| only == known.announced.host)
                && known.heard.elapsed() < SILENT_AFTER
                && !known.full
                && misfit(&known.announced, wanted).is_none()
        });
        usable
            .filter_map(|known| {
                let free = Some(self.free(known)).filter(|free| *free > 0)?;
                Some((
                    u64::from(free) * 1000 / u64::from(known.announced.slots.max(1)),
                    known,
                ))
            })
            .max_by_key(|(share, _)| *share)
            .map(|(_, known)| known.announced.host.clone())
    }

    /// Slots that are free for such workers.
    pub fn free_slots(&self, wanted: &Wanted) -> usize {
        let usable = self.hosts.values().filter(|known| {
            known.heard.elapsed() < SILENT_AFTER && !known.full && misfit(&known.announced, wanted).is_none()
        });
        usable.map(|known| self.free(known) as usize).sum()
    }

    /// Whether some host could run such a worker, now or later.
    pub fn fits_somewhere(&self, wanted: &Wanted) -> bool {
        self.hosts
            .values()
            .any(|known| known.heard.elapsed() < SILENT_AFTER && misfit(&known.announced, wanted).is_none())
    }

    /// Which hosts there are and why none fits.
    pub fn reasons(&self, wanted: &Wanted) -> String {
        let mut text = match &wanted.label {
            Some(label) => format!(
                "no host fits a worker with agent {} and label {label}",
                wanted.agent
            ),
            None => format!("no host fits a worker with agent {}", wanted.agent),
        };
        if self.hosts.is_empty() {
            text += ": there are no hosts";
        }
        for (position, (name, known)) in self.hosts.iter().enumerate() {
            let reason = if known.heard.elapsed() >= SILENT_AFTER {
                "does not answer".to_owned()
            } else {
                misfit(&known.announced, wanted).unwrap_or_else(|| "is busy".to_owned())
            };
            let separator = if position == 0 { ": " } else { "; " };
            let _ = write!(text, "{separator}{name} {reason}");
        }
        text
    }
}

/// Why a host cannot run such a worker; `None` if it can.
pub fn misfit(host: &HostAnnouncement, wanted: &Wanted) -> Option<String> {
    if host.wire != WIRE_VERSION || host.program != env!("CARGO_PKG_VERSION") {
        return Some(format!(
            "runs wavecrew {}; this run uses {}",
            host.program,
            env!("CARGO_PKG_VERSION")
        ));
    }
    if host.draining {
        return Some("is shutting down".to_owned());
    }
    if host.slots == 0 {
        return Some("has no slots".to_owned());
    }
    if let Some(label) = &wanted.label
        && !host.labels.contains(label)
    {
        let labels = if host.labels.is_empty() {
            "no labels".to_owned()
        } else {
            format!("only {}", host.labels.join(", "))
        };
        return Some(format!("has {labels}"));
    }
    // Other names are commands; whether they exist shows when they start.
    let is_cli = cli::by_name(&wanted.agent).is_some() && wanted.agent != OFFLINE;
    if is_cli && !host.agents.iter().any(|agent| agent.name == wanted.agent) {
        return Some(format!("has no {}", wanted.agent));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavecrew_remote::wire::HostAgent;

    fn host(name: &str, slots: u32, busy: u32) -> HostAnnouncement {
        HostAnnouncement {
            wire: WIRE_VERSION,
            host: name.to_owned(),
            boot: "1".to_owned(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            slots,
            busy,
            runs: BTreeMap::new(),
            labels: vec!["gpu".to_owned()],
            agents: vec![HostAgent {
                name: "codex".to_owned(),
                version: None,
            }],
            load: None,
            draining: false,
        }
    }

    fn wanted(agent: &str, label: Option<&str>) -> Wanted {
        Wanted {
            agent: agent.to_owned(),
            label: label.map(str::to_owned),
        }
    }

    #[test]
    fn the_host_with_the_most_room_is_chosen() {
        let mut hosts = Directory::default();
        hosts.announced(host("a", 4, 3));
        hosts.announced(host("b", 2, 0));
        let any = wanted("command:x", None);
        assert_eq!(hosts.choose(&any, None).as_deref(), Some("b"));
        hosts.assigned("b");
        hosts.assigned("b");
        assert_eq!(hosts.choose(&any, None).as_deref(), Some("a"));
        hosts.refused("a");
        assert_eq!(hosts.choose(&any, None), None);
        hosts.released("b");
        assert_eq!(hosts.choose(&any, Some("a")), None);
        assert_eq!(hosts.choose(&any, Some("b")).as_deref(), Some("b"));
    }

    #[test]
    fn what_a_host_says_about_this_run_is_older_than_what_the_run_knows() {
        let mut hosts = Directory::of_run("mine");
        let mut busy = host("a", 2, 2);
        busy.runs = BTreeMap::from([("mine".to_owned(), 1), ("other".to_owned(), 1)]);
        hosts.announced(busy);
        let any = wanted("command:x", None);
        // Its turn there is over, although the host has not announced that yet.
        assert_eq!(hosts.choose(&any, None).as_deref(), Some("a"));
        hosts.assigned("a");
        assert_eq!((hosts.choose(&any, None), hosts.free_slots(&any)), (None, 0));
    }

    #[test]
    fn the_reasons_name_every_host() {
        let mut hosts = Directory::default();
        assert!(
            hosts
                .reasons(&wanted("codex", None))
                .ends_with("there are no hosts")
        );
        hosts.announced(host("a", 1, 0));
        let mut old = host("b", 1, 0);
        old.program = "0.0.1".to_owned();
        hosts.announced(old);
        let mut plain = host("c", 1, 0);
        plain.labels.clear();
        hosts.announced(plain);
        let claude = wanted("claude", Some("gpu"));
        assert!(!hosts.fits_somewhere(&claude));
        assert!(hosts.fits_somewhere(&wanted("codex", Some("gpu"))));
        let text = hosts.reasons(&claude);
        for part in ["a has no claude", "b runs wavecrew 0.0.1", "c has no labels"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
