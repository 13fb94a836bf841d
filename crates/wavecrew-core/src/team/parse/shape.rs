//! Checks the syntax tree against the JSON Schema of the format: unknown keys, wrong types, unknown words, missing
//! keys. Understands just what the derived schema uses.

use super::source::{Source, did_you_mean};
use serde_json::Value;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) fn check(source: &mut Source<'_>) {
    let schema = crate::team::team_schema();
    let mut walk = Walk {
        schema: &schema,
        found: vec![],
    };
    walk.table(source.root.get_ref(), &source.root.span(), &schema, "the team");
    for (span, message, help) in walk.found {
        source.problem(span, message, help);
    }
}

struct Walk<'s> {
    schema: &'s Value,
    found: Vec<(Range<usize>, String, Option<String>)>,
}

impl<'s> Walk<'s> {
    fn resolve(&self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        while let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let pointer = reference.trim_start_matches('#');
            schema = self
                .schema
                .pointer(pointer)
                .expect("derived references point into the schema");
        }
        // An optional struct is `anyOf [it, null]`; TOML has no null, so only the first matters.
        match schema.get("anyOf").and_then(Value::as_array) {
            Some(any) => self.resolve(&any[0]),
            None => schema,
        }
    }

    fn problem(&mut self, span: Range<usize>, message: String, help: Option<String>) {
        self.found.push((span, message, help));
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, schema: &'s Value, what: &str) {
        let schema = self.resolve(schema);
        if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
            return self.one_of(value, variants, what);
        }
        let words = schema.get("enum").and_then(Value::as_array);
        if let Some(words) = words {
            return self.word(
                value,
                &words.iter().filter_map(Value::as_str).collect::<Vec<_>>(),
                what,
            );
        }
        let types = type_names(schema);
        if !types.is_empty() && !types.iter().any(|t| fits(value.get_ref(), *t)) {
            let message = format!(
                "{what} must be {}, not {}",
                types[0].article(),
                article(value.get_ref())
            );
            return self.problem(value.span(), message, None);
        }
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, &value.span(), schema, what),
            DeValue::Array(items) => {
                let Some(item_schema) = schema.get("items") else {
                    return;
                };
                for item in items {
                    self.value(item, item_schema, &entry_of(what, item.get_ref()));
                }
            }
            DeValue::Integer(number) => {
                self.bounds(value.span(), number.as_str(), number.radix(), schema, what);
            }
            DeValue::String(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {}
        }
    }

    fn bounds(&mut self, span: Range<usize>, digits: &str, radix: u32, schema: &Value, what: &str) {
        let number = i128::from_str_radix(digits, radix).unwrap_or(i128::MAX);
        let max = match schema.get("format").and_then(Value::as_str) {
            Some("uint32") => i128::from(u32::MAX),
            _ => i128::from(i64::MAX),
        };
        let min = schema
            .get("minimum")
            .and_then(Value::as_i64)
            .map_or(i128::MIN, i128::from);
        if number < min || number > max {
            self.problem(span, format!("{what} must be between {min} and {max}"), None);
        }
    }

    /// One of several words, or a table whose `kind` selects the variant.
    fn one_of(&mut self, value: &Spanned<DeValue<'_>>, variants: &'s [Value], what: &str) {
        let Some(table) = value.get_ref().as_table() else {
            let words: Vec<&str> = variants.iter().flat_map(words_of).collect();
            if words.is_empty() {
                let message = format!("{what} must be a table, not {}", article(value.get_ref()));
                return self.problem(value.span(), message, None);
            }
            return self.word(value, &words, what);
        };
        let kinds: Vec<&str> = variants.iter().filter_map(kind_of).collect();
        let Some(kind) = table.get("kind") else {
            let help = Some(format!("known are: {}", kinds.join(", ")));
            return self.problem(value.span(), format!("{what} has no `kind`"), help);
        };
        let Some(name) = kind.get_ref().as_str() else {
            return self.word(kind, &kinds, "`kind`");
        };
        match variants.iter().find(|v| kind_of(v) == Some(name)) {
            Some(variant) => self.table(table, &value.span(), variant, what),
            None => self.word(kind, &kinds, "`kind`"),
        }
    }

    fn word(&mut self, value: &Spanned<DeValue<'_>>, words: &[&str], what: &str) {
        match value.get_ref().as_str() {
            Some(word) if words.contains(&word) => {}
            Some(word) => {
                let help = did_you_mean(word, words.iter().copied());
                self.problem(value.span(), format!("{what} cannot be `{word}`"), help);
            }
            None => {
                let message = format!("{what} must be a string, not {}", article(value.get_ref()));
                self.problem(
                    value.span(),
                    message,
                    Some(format!("known are: {}", words.join(", "))),
                );
            }
        }
    }

    fn table(&mut self, table: &DeTable<'_>, span: &Range<usize>, schema: &'s Value, what: &str) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let property = |name: &str| properties.and_then(|p| p.get(name));
        let others = schema.get("additionalProperties");
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if let Some(schema) = property(name) {
                self.value(value, schema, &format!("`{name}`"));
            } else if others == Some(&Value::Bool(false)) {
                let known = properties.into_iter().flat_map(serde_json::Map::keys);
                let help = did_you_mean(name, known.map(String::as_str));
                self.problem(key.span(), format!("unknown key `{name}` in {what}"), help);
            } else if let Some(schema @ Value::Object(_)) = others {
                self.value(value, schema, &format!("`{name}`"));
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !table.contains_key(name) {
                let about = property(name)
                    .and_then(|p| p.get("description"))
                    .and_then(Value::as_str);
                let help = about.map(|about| format!("`{name}`: {about}"));
                self.problem(span.clone(), format!("{what} has no `{name}`"), help);
            }
        }
    }
}

/// What to call an entry of a list: by its own name if it has one.
fn entry_of(list: &str, item: &DeValue<'_>) -> String {
    let name = |key| item.as_table()?.get(key)?.get_ref().as_str();
    match name("name").or_else(|| name("id")) {
        Some(name) => format!("`{name}` of {list}"),
        None => format!("an entry of {list}"),
    }
}

/// The `kind` of a tagged variant.
fn kind_of(variant: &Value) -> Option<&str> {
    variant.pointer("/properties/kind/const").and_then(Value::as_str)
}

/// The words a variant of a plain enum stands for: schemars groups those without a comment.
fn words_of(variant: &Value) -> Vec<&str> {
    let one = variant.get("const").and_then(Value::as_str);
    let many = variant.get("enum").and_then(Value::as_array);
    one.into_iter()
        .chain(many.into_iter().flatten().filter_map(Value::as_str))
        .collect()
}

#[derive(Clone, Copy)]
enum TypeName {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

impl TypeName {
    fn article(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Array => "a list",
            Self::Object => "a table",
        }
    }
}

fn type_names(schema: &Value) -> Vec<TypeName> {
    let name = |value: &Value| match value.as_str()? {
        "string" => Some(TypeName::String),
        "integer" => Some(TypeName::Integer),
        "number" => Some(TypeName::Number),
        "boolean" => Some(TypeName::Boolean),
        "array" => Some(TypeName::Array),
        "object" => Some(TypeName::Object),
        _ => None,
    };
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().filter_map(name).collect(),
        Some(one) => name(one).into_iter().collect(),
        None => vec![],
    }
}

fn fits(value: &DeValue<'_>, wanted: TypeName) -> bool {
    match wanted {
        TypeName::String => value.is_str(),
        TypeName::Integer => value.is_integer(),
        TypeName::Number => value.is_integer() || value.is_float(),
        TypeName::Boolean => value.is_bool(),
        TypeName::Array => value.is_array(),
        TypeName::Object => value.is_table(),
    }
}

fn article(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
