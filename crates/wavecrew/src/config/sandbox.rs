//! `sandbox = "..."` or `[sandbox]`: how workers are confined.

use super::Reader;
use crate::exit::Failure;
use std::path::PathBuf;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wavecrew_run::sandbox::{NetworkSetting, SandboxMode, SandboxSettings};

const KEYS: [&str; 8] = [
    "mode",
    "write",
    "read",
    "deny",
    "network",
    "role_network",
    "check_network",
    "ports",
];

/// With `require` it overrides the project's settings, which may come from somebody else.
const VARIABLE: &str = "WAVECREW_SANDBOX";

/// Applies the variable of the person who runs the program.
pub(super) fn apply_variable(settings: &mut SandboxSettings) -> Result<(), Failure> {
    let value = std::env::var(VARIABLE).unwrap_or_default();
    match value.as_str() {
        "" => {}
        "require" => settings.mode = SandboxMode::Require,
        other => {
            return Err(Failure::with_help(
                format!("{VARIABLE} is `{other}`"),
                "set it to `require`, or unset it; `sandbox` in wavecrew.toml has the other modes",
            ));
        }
    }
    Ok(())
}

/// Reads `sandbox = "off"`, or a table with the key `mode`.
pub(super) fn read(value: &Spanned<DeValue<'_>>, reader: &mut Reader<'_>) -> SandboxSettings {
    let mut settings = SandboxSettings::default();
    match value.get_ref() {
        DeValue::Table(table) => fill(&mut settings, table, reader),
        _ => settings.mode = mode("sandbox", value, reader),
    }
    settings
}

fn fill(settings: &mut SandboxSettings, table: &DeTable<'_>, reader: &mut Reader<'_>) {
    for (key, value) in table {
        let paths = |list: Vec<String>| list.into_iter().map(PathBuf::from).collect();
        match &**key.get_ref() {
            "mode" => settings.mode = mode("mode", value, reader),
            "write" => settings.write = paths(reader.list("write", value)),
            "read" => settings.read = paths(reader.list("read", value)),
            "deny" => settings.deny = paths(reader.list("deny", value)),
            "network" => settings.network = network("network", value, reader),
            "check_network" => settings.check_network = network("check_network", value, reader),
            "role_network" => {
                if let DeValue::Table(roles) = value.get_ref() {
                    for (role, value) in roles {
                        let found = network("role_network", value, reader);
                        settings.role_network.insert(role.get_ref().to_string(), found);
                    }
                } else {
                    let help = "write [sandbox.role_network] and below it role = \"off\"";
                    reader.problem(
                        value.span(),
                        "`role_network` must be a table".into(),
                        Some(help.into()),
                    );
                }
            }
            "ports" => settings.ports = ports(value, reader),
            unknown => reader.unknown(key, unknown, " in [sandbox]", &KEYS),
        }
    }
}

fn mode(name: &str, value: &Spanned<DeValue<'_>>, reader: &mut Reader<'_>) -> SandboxMode {
    one_of(name, value, reader, SandboxMode::parse, &SandboxMode::NAMES)
}

fn network(name: &str, value: &Spanned<DeValue<'_>>, reader: &mut Reader<'_>) -> NetworkSetting {
    one_of(name, value, reader, NetworkSetting::parse, &NetworkSetting::NAMES)
}

fn one_of<T: Default>(
    name: &str,
    value: &Spanned<DeValue<'_>>,
    reader: &mut Reader<'_>,
    parse: fn(&str) -> Option<T>,
    names: &[&str],
) -> T {
    let Some(text) = reader.text(name, value) else {
        return T::default();
    };
    parse(&text).unwrap_or_else(|| {
        let help = format!("one of: {}", names.join(", "));
        reader.problem(value.span(), format!("`{name}` cannot be `{text}`"), Some(help));
        T::default()
    })
}

fn ports(value: &Spanned<DeValue<'_>>, reader: &mut Reader<'_>) -> Vec<u16> {
    let DeValue::Array(items) = value.get_ref() else {
        reader.problem(
            value.span(),
            "`ports` must be a list of numbers".into(),
            Some("write ports = [5432]".into()),
        );
        return Vec::new();
    };
    let numbers = items.iter().filter_map(|item| reader.number("ports", item));
    numbers.filter_map(|number| u16::try_from(number).ok()).collect()
}
