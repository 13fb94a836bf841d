//! `{column}` placeholders. One mechanism for every instruction.

use std::cell::RefCell;

/// Replaces `{name}` by its value; `{{` and `}}` are literal braces; names without a value stay as they are.
pub fn fill<'a>(template: &str, value: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{{") {
            out.push('{');
            rest = after;
        } else if let Some(after) = rest.strip_prefix("}}") {
            out.push('}');
            rest = after;
        } else if let Some((name, after)) = placeholder(rest)
            && let Some(value) = value(name)
        {
            out.push_str(value);
            rest = after;
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

/// The names that `fill` would ask for, each once.
pub fn placeholders(template: &str) -> Vec<String> {
    let asked = RefCell::new(vec![]);
    fill(template, |name| {
        let mut asked = asked.borrow_mut();
        if !asked.iter().any(|known| known == name) {
            asked.push(name.to_owned());
        }
        None
    });
    asked.into_inner()
}

/// The name in a leading `{name}`, and what follows it.
fn placeholder(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix('{')?.split_once('}')?;
    (!name.is_empty() && !name.contains('{')).then_some((name, after))
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn placeholders() {
        let value = |name: &str| match name {
            "layer" => Some("L1"),
            "nested" => Some("{layer}"),
            "two words" => Some("2"),
            _ => None,
        };
        for (template, filled) in [
            ("run {layer} now", "run L1 now"),
            ("{{layer}}", "{layer}"),
            ("{unknown} stays", "{unknown} stays"),
            ("{nested}", "{layer}"),
            ("{two words}", "2"),
            ("{ {layer}", "{ L1"),
            ("open { and } close", "open { and } close"),
            ("{\"id\": \"{layer}\"}", "{\"id\": \"L1\"}"),
            ("", ""),
            ("{", "{"),
            ("ü{layer}ü", "üL1ü"),
        ] {
            assert_eq!(fill(template, value), filled, "{template}");
        }
    }
}
