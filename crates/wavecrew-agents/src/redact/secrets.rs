//! Which texts are secret: the values of variables that contain keys, the passwords in addresses, and every form in which
//! such a value is usually written.

use std::ffi::OsString;
use wavecrew_core::encoding::percent_encoded;

/// A shorter value cannot be distinguished from ordinary text.
const SHORTEST: usize = 4;
/// Shorter values are masked only where they stand alone.
const LONG: usize = 8;
/// Programs wrap what they encode after so many characters.
const WRAPPED: [usize; 2] = [76, 64];

/// Names of variables that contain secrets: the whole name, or its end after `_`.
const NAMES: &[&str] = &[
    "API_KEY",
    "AUTH",
    "CREDENTIALS",
    "DSN",
    "KEY",
    "PASS",
    "PIN",
    "TOKEN",
];
/// Words that mark a secret anywhere in a variable's name.
const PARTS: &[&str] = &[
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "SECRET",
    "PRIVATE_KEY",
    "WEBHOOK",
];
/// Names of variables in which even a short number is a secret.
const NUMBERS: &[&str] = &["PASS", "PIN", "SECRET"];
/// Values that mean "no secret".
const PLACEHOLDERS: &[&str] = &[
    "changeme",
    "default",
    "demo",
    "dummy",
    "empty",
    "example",
    "fake",
    "false",
    "none",
    "null",
    "password",
    "placeholder",
    "secret",
    "test",
    "token",
    "true",
    "undefined",
    "unset",
    "xxxx",
    "xxxxxxxx",
];

/// A text that is to be masked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Pattern {
    pub bytes: Vec<u8>,
    pub place: Place,
}

/// Where a pattern counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Place {
    Anywhere,
    /// Not next to a letter or digit.
    Alone,
    /// With the characters of base64 around it, which contain its first and last bits.
    InBase64,
}

/// Everything that must not be shown of these variables.
pub(super) fn patterns(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<Pattern> {
    let mut found = Vec::new();
    for (name, value) in variables {
        let name = name.to_string_lossy().to_uppercase();
        let value = value.to_string_lossy();
        for secret in secrets(&name, &value) {
            add_forms(&secret, &mut found);
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The secrets in a variable.
fn secrets(name: &str, value: &str) -> Vec<String> {
    let mut found = passwords_in(value, name.ends_with("DSN") || name.ends_with("DATABASE_URL"));
    // A path is not a secret itself, and a data source is more than its password.
    let is_data_source = name.ends_with("DSN") && !found.is_empty();
    if holds_secret(name) && !value.starts_with('/') && !is_data_source {
        // The lines of a key are found one by one: programs indent and escape them.
        let lines = value.lines().map(str::trim);
        found.extend(lines.filter(|line| !line.starts_with("-----")).map(str::to_owned));
    }
    found.retain(|secret| {
        let number = secret.bytes().all(|byte| byte.is_ascii_digit());
        let may_be_number = NUMBERS.iter().any(|part| name.contains(part)) || secret.len() >= LONG;
        secret.len() >= SHORTEST
            && (!number || may_be_number)
            && !PLACEHOLDERS.contains(&secret.to_lowercase().as_str())
    });
    found
}

fn holds_secret(name: &str) -> bool {
    let ends = |ending: &&str| {
        let before = name.strip_suffix(*ending);
        before.is_some_and(|before| before.is_empty() || before.ends_with('_'))
    };
    NAMES.iter().any(ends) || PARTS.iter().any(|part| name.contains(part)) || name == "MYSQL_PWD"
}

/// Passwords in an address (`scheme://user:password@host/?token=...`) or a data source (`host=... password=...`).
fn passwords_in(value: &str, is_data_source: bool) -> Vec<String> {
    let mut found = Vec::new();
    let address = value.split_once("://").map(|(_, rest)| rest);
    if let Some(rest) = address.or(is_data_source.then_some(value)) {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        // A password may contain `/` or `@` by mistake: the last `@` counts, in the host's part if there is one.
        let user = rest[..end].rsplit_once('@').or_else(|| rest.rsplit_once('@'));
        let password = user
            .and_then(|(user, _)| user.split_once(':'))
            .map(|(_, password)| password);
        found.extend(password.map(str::to_owned));
    }
    for pair in value.split(['?', '&', ';', ' ']) {
        if let Some((name, value)) = pair.split_once('=')
            && (holds_secret(&name.to_uppercase()) || name.eq_ignore_ascii_case("pwd"))
            && (address.is_some() || is_data_source)
        {
            found.push(value.to_owned());
        }
    }
    let decoded: Vec<String> = found
        .iter()
        .filter_map(|password| percent_decoded(password))
        .collect();
    found.extend(decoded);
    found
}

/// Every form of a secret that programs print.
fn add_forms(secret: &str, found: &mut Vec<Pattern>) {
    let place = if secret.len() < LONG {
        Place::Alone
    } else {
        Place::Anywhere
    };
    let json = json_escaped(secret);
    let upper = percent_encoded(secret, |byte| format!("%{byte:02X}"));
    let with_plus = upper.replace("%20", "+");
    let forms = [
        secret.to_owned(),
        secret.replace('/', "\\/"),
        json_escaped(&json),
        json,
        upper,
        percent_encoded(secret, |byte| format!("%{byte:02x}")),
        with_plus,
    ];
    found.extend(forms.map(|form| Pattern {
        bytes: form.into_bytes(),
        place,
    }));
    if place == Place::Alone {
        for whole in [secret.to_owned(), format!("{secret}\n")] {
            found.push(Pattern {
                bytes: base64(whole.as_bytes(), STANDARD).into_bytes(),
                place,
            });
        }
        return;
    }
    for alphabet in [STANDARD, URL_SAFE] {
        for before in 0..3 {
            add_base64(secret, before, alphabet, found);
        }
    }
}

/// The part of a secret's base64 that does not depend on what stands around it, with `before` bytes before it.
fn add_base64(secret: &str, before: usize, alphabet: &[u8; 64], found: &mut Vec<Pattern>) {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(secret.as_bytes());
    let whole = bytes.len() * 8 / 6;
    let text = base64(&bytes, alphabet);
    // One byte takes part in two characters, two bytes in three.
    let core = &text[if before == 0 { 0 } else { before + 1 }..whole];
    let mut add = |part: &str| {
        if part.len() >= LONG {
            found.push(Pattern {
                bytes: part.as_bytes().to_vec(),
                place: Place::InBase64,
            });
        }
    };
    add(core);
    for width in WRAPPED
        .into_iter()
        .filter(|width| before == 0 && core.len() > *width)
    {
        // Only characters of one byte.
        for at in (0..core.len()).step_by(width) {
            add(&core[at..core.len().min(at + width)]);
        }
    }
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Without padding.
fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = group
            .iter()
            .chain([&0; 2])
            .take(3)
            .fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        for at in 0..=group.len() {
            text.push(char::from(alphabet[number >> (18 - 6 * at) & 63]));
        }
    }
    text
}

fn json_escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// `None` if nothing in it is encoded.
fn percent_decoded(text: &str) -> Option<String> {
    let (mut decoded, mut rest, mut any) = (Vec::new(), text.as_bytes(), false);
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| byte == b'%');
        let code = code.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        decoded.push(code.unwrap_or(byte));
        any |= code.is_some();
        rest = if code.is_some() { &after[2..] } else { after };
    }
    any.then(|| String::from_utf8_lossy(&decoded).into_owned())
}
