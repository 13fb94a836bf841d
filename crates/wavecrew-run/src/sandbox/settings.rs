//! The sandbox settings of a project.

use std::collections::BTreeMap;
use std::path::PathBuf;
use wavecrew_process::sandbox::{Network, Support};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    pub mode: SandboxMode,
    /// Places that every worker may change besides those of its role.
    pub write: Vec<PathBuf>,
    /// Places that every worker may read although they hold credentials.
    pub read: Vec<PathBuf>,
    /// Places that no worker may read, besides credentials.
    pub deny: Vec<PathBuf>,
    pub network: NetworkSetting,
    pub role_network: BTreeMap<String, NetworkSetting>,
    /// For what wavecrew itself runs on files of workers: checks, builds, test frameworks.
    pub check_network: NetworkSetting,
    /// Further TCP ports for roles with [`NetworkSetting::Agent`].
    pub ports: Vec<u16>,
}

impl SandboxSettings {
    /// What this machine can enforce; nothing if it is turned off.
    pub fn support(&self) -> Support {
        match self.mode {
            SandboxMode::Off => Support::default(),
            SandboxMode::Auto | SandboxMode::Require => Support::detect(),
        }
    }

    pub fn network_of(&self, role: &str) -> NetworkSetting {
        self.role_network.get(role).copied().unwrap_or(self.network)
    }

    /// The TCP connections that a setting allows.
    pub(super) fn ports_of(&self, setting: NetworkSetting) -> Network {
        match setting {
            NetworkSetting::Any => Network::Any,
            NetworkSetting::Off => Network::Off,
            NetworkSetting::Agent => {
                let mut ports = service_ports(text_variables());
                ports.extend(&self.ports);
                Network::Ports(ports)
            }
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// Confines as far as the machine allows.
    #[default]
    Auto,
    /// Refuses to run where files cannot be confined.
    Require,
    Off,
}

impl SandboxMode {
    pub const NAMES: [&str; 3] = ["auto", "require", "off"];

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "require" => Some(Self::Require),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// Which TCP connections the workers of a role may make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NetworkSetting {
    #[default]
    Any,
    /// To the ports of the agent's service only.
    Agent,
    Off,
}

impl NetworkSetting {
    pub const NAMES: [&str; 3] = ["any", "agent", "off"];

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "any" => Some(Self::Any),
            "agent" => Some(Self::Agent),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// The environment variables that are valid text.
fn text_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The port of HTTPS, and those of services and proxies that variables name.
fn service_ports(variables: impl Iterator<Item = (String, String)>) -> Vec<u16> {
    let mut ports = vec![443];
    for (name, value) in variables {
        let name = name.to_ascii_uppercase();
        if name.ends_with("_BASE_URL") || name.ends_with("_PROXY") || name.ends_with("_ENDPOINT") {
            ports.extend(port_of(&value));
        }
    }
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// The port of a URL, or of its scheme.
fn port_of(url: &str) -> Option<u16> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    let host = host.rsplit('@').next()?;
    match host.rsplit_once(':') {
        Some((_, port)) if !port.contains(']') => port.parse().ok(),
        _ if scheme == "http" => Some(80),
        _ => Some(443),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_come_from_addresses_of_services() {
        let variables = [
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:4123/v1"),
            ("HTTPS_PROXY", "http://user:word@proxy:3128"),
            ("OPENAI_BASE_URL", "https://[::1]/x"),
            ("HOME", "http://not:1"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(service_ports(variables.into_iter()), [443, 3128, 4123]);
    }

    #[test]
    fn a_role_has_its_own_setting_or_the_common_one() {
        let settings = SandboxSettings {
            network: NetworkSetting::Agent,
            role_network: BTreeMap::from([("tester".to_owned(), NetworkSetting::Off)]),
            ..SandboxSettings::default()
        };
        assert_eq!(settings.network_of("tester"), NetworkSetting::Off);
        assert_eq!(settings.network_of("planner"), NetworkSetting::Agent);
    }
}
