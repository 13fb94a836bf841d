//! Amounts as people write them: money, tokens, lengths of time.

/// An amount of money: `5`, `$0.50`.
pub fn read_cost(text: &str) -> Option<f64> {
    let amount: f64 = text.strip_prefix('$').unwrap_or(text).parse().ok()?;
    (amount.is_finite() && amount > 0.0).then_some(amount)
}

/// A number of tokens: `200000`, `500k`, `2M`.
pub fn read_tokens(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1000),
        b'm' | b'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(factor).filter(|number| *number > 0)
}

/// A length of time in seconds: `90`, `90s`, `1h30m`.
pub fn read_seconds(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number: u64 = rest[..end].parse().ok()?;
        let unit = rest[end..].chars().next();
        let seconds = match unit {
            None if total == 0 => 1,
            Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some('d') => 86_400,
            None | Some(_) => return None,
        };
        total = total.checked_add(number.checked_mul(seconds)?)?;
        rest = rest[end..].get(unit.map_or(0, char::len_utf8)..)?.trim_start();
    }
    Some(total).filter(|total| *total > 0)
}
