//! What a JavaScript or TypeScript module says of its own inputs: parameters with their types, types of its own, and the
//! constants that its code compares with. For whoever makes up inputs for it.

use std::collections::BTreeMap;

use serde::Serialize;
use tree_sitter::Node;

use crate::grammar::Grammar;
use crate::tree::{children, field, text, walk};

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Outline {
    pub functions: BTreeMap<String, Callable>,
    pub classes: BTreeMap<String, ClassOutline>,
    /// Interfaces, aliases and enums, by name.
    pub types: BTreeMap<String, DeclaredType>,
    pub constants: Constants,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Callable {
    pub params: Vec<Param>,
    /// Where it begins.
    pub line: usize,
    /// Its source, to see how parameters are used.
    pub body: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Param {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    pub optional: bool,
    pub rest: bool,
    /// The source of one that is taken apart where it is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ClassOutline {
    #[serde(rename = "constructor_", skip_serializing_if = "Option::is_none")]
    pub constructor: Option<Callable>,
    pub methods: BTreeMap<String, Callable>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum DeclaredType {
    Alias { text: String },
    Enum { members: Vec<String> },
    Class,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Constants {
    pub numbers: Vec<f64>,
    pub strings: Vec<String>,
    /// Sources of regular expressions.
    pub regexes: Vec<String>,
}

/// At most this many constants of a kind are worth trying.
const MOST: usize = 80;
const LONGEST: usize = 60;

/// Of a module in JavaScript or TypeScript; empty for other languages.
pub fn outline(language: Grammar, source: &str) -> Outline {
    let mut found = Outline::default();
    if language.is_python() {
        return found;
    }
    let tree = language.parse(source);
    walk(tree.root_node(), |node| {
        found.take(node, source);
        !matches!(node.kind(), "import_statement" | "comment")
    });
    found
}

impl Outline {
    fn take(&mut self, node: Node<'_>, source: &str) {
        let name = || field(node, "name").map(|name| text(name, source).to_owned());
        match node.kind() {
            "function_declaration" | "generator_function_declaration" => {
                self.functions
                    .extend(name().map(|name| (name, callable(node, source))));
            }
            "variable_declarator" | "pair" | "assignment_expression" => {
                let value = field(node, "value").or_else(|| field(node, "right"));
                let named = field(node, "name")
                    .or_else(|| field(node, "key"))
                    .or_else(|| field(node, "left"));
                if let (Some(value), Some(named)) = (value, named)
                    && matches!(
                        value.kind(),
                        "arrow_function" | "function_expression" | "function"
                    )
                {
                    let name = text(named, source)
                        .rsplit('.')
                        .next()
                        .unwrap_or_default()
                        .to_owned();
                    self.functions
                        .entry(name)
                        .or_insert_with(|| callable(value, source));
                }
            }
            "class_declaration" | "class" | "abstract_class_declaration" => {
                if let Some(name) = name() {
                    self.types.insert(name.clone(), DeclaredType::Class);
                    self.classes.insert(name, class(node, source));
                }
            }
            "interface_declaration" => {
                if let (Some(name), Some(body)) = (name(), field(node, "body")) {
                    let text = text(body, source).to_owned();
                    self.types.insert(name, DeclaredType::Alias { text });
                }
            }
            "type_alias_declaration" => {
                if let (Some(name), Some(value)) = (name(), field(node, "value")) {
                    let text = text(value, source).to_owned();
                    self.types.insert(name, DeclaredType::Alias { text });
                }
            }
            "enum_declaration" => {
                if let (Some(name), Some(body)) = (name(), field(node, "body")) {
                    let members = children(body).into_iter().map(|member| {
                        let named = field(member, "name").unwrap_or(member);
                        text(named, source).to_owned()
                    });
                    let members = members.collect();
                    self.types.insert(name, DeclaredType::Enum { members });
                }
            }
            _ => self.constants.take(node, source),
        }
    }
}

impl Constants {
    fn take(&mut self, node: Node<'_>, source: &str) {
        match node.kind() {
            "number" => {
                if let Ok(number) = text(node, source).replace('_', "").parse::<f64>()
                    && self.numbers.len() < MOST
                    && !self.numbers.contains(&number)
                {
                    self.numbers.push(number);
                }
            }
            "string_fragment" => {
                let found = text(node, source).to_owned();
                if found.len() <= LONGEST && self.strings.len() < MOST && !self.strings.contains(&found) {
                    self.strings.push(found);
                }
            }
            "regex_pattern" => {
                let found = text(node, source).to_owned();
                if self.regexes.len() < MOST && !self.regexes.contains(&found) {
                    self.regexes.push(found);
                }
            }
            _ => {}
        }
    }
}

fn callable(node: Node<'_>, source: &str) -> Callable {
    let list = field(node, "parameters");
    let single = field(node, "parameter").map(|one| Param {
        name: text(one, source).to_owned(),
        ..Param::default()
    });
    let documented = documented(node, source);
    let mut params: Vec<Param> = match list {
        Some(list) => children(list)
            .into_iter()
            .filter_map(|node| param(node, source))
            .collect(),
        None => single.into_iter().collect(),
    };
    for param in &mut params {
        if param.r#type.is_none() {
            param.r#type = documented.get(&param.name).cloned();
        }
    }
    Callable {
        params,
        line: node.start_position().row + 1,
        body: text(node, source).to_owned(),
    }
}

/// Types that the comment before a function gives its parameters.
fn documented(node: Node<'_>, source: &str) -> BTreeMap<String, String> {
    let mut at = node;
    let comment = loop {
        if let Some(before) = at.prev_sibling().filter(|before| before.kind() == "comment") {
            break text(before, source);
        }
        match at.parent() {
            Some(parent) if parent.start_byte() + 40 > at.start_byte() && parent.kind() != "program" => {
                at = parent;
            }
            _ => return BTreeMap::new(),
        }
    };
    let tags = comment.split("@param").skip(1);
    tags.filter_map(|tag| {
        let (_, rest) = tag.split_once('{')?;
        let (r#type, rest) = rest.split_once('}')?;
        let name = rest.trim_start().trim_start_matches('[');
        let end = name
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
            .unwrap_or(name.len());
        Some((
            name[..end].to_owned(),
            r#type.trim().trim_end_matches('=').to_owned(),
        ))
    })
    .collect()
}

fn param(node: Node<'_>, source: &str) -> Option<Param> {
    let typed = |node: Node<'_>| {
        let annotation = field(node, "type")?;
        Some(text(annotation, source).trim_start_matches(':').trim().to_owned())
    };
    let pattern = field(node, "pattern").unwrap_or(node);
    let mut found = Param {
        r#type: typed(node),
        optional: node.kind() == "optional_parameter" || field(node, "value").is_some(),
        ..Param::default()
    };
    let mut inner = pattern;
    if inner.kind() == "assignment_pattern" {
        found.optional = true;
        inner = field(inner, "left").unwrap_or(inner);
    }
    if inner.kind() == "rest_pattern" {
        found.rest = true;
        inner = children(inner).first().copied().unwrap_or(inner);
    }
    match inner.kind() {
        "this" | "comment" => return None,
        "identifier" => text(inner, source).clone_into(&mut found.name),
        _ => {
            "options".clone_into(&mut found.name);
            found.pattern = Some(text(inner, source).to_owned());
        }
    }
    Some(found)
}

fn class(node: Node<'_>, source: &str) -> ClassOutline {
    let mut found = ClassOutline::default();
    for member in field(node, "body").map(children).unwrap_or_default() {
        if member.kind() != "method_definition" {
            continue;
        }
        let Some(name) = field(member, "name").map(|name| text(name, source).to_owned()) else {
            continue;
        };
        if name == "constructor" {
            found.constructor = Some(callable(member, source));
        } else {
            found.methods.insert(name, callable(member, source));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_types_and_constants_are_told() {
        let source = r"
            export type Kind = 'a' | 'b';
            interface Options { deep?: boolean }
            export enum Colour { Red, Blue = 3 }
            export function pad(text: string, width = 8, ...rest: number[]): string { return text.length > 10 ? 'long' : text; }
            const pick = ({ a, b }, key) => key.match(/^x+$/);
            /** @param {string[]} items
             *  @param {number} [most] */
            function join(items, most) {}
            export class Cart { constructor(private readonly owner: string) {} add(price: number, kind?: Kind) {} }
        ";
        let found = outline(Grammar::TypeScript, source);
        let params = |name: &str| {
            let said = found.functions[name].params.iter().map(|param| {
                format!(
                    "{}{}{}:{}",
                    if param.rest { "..." } else { "" },
                    param.name,
                    if param.optional { "?" } else { "" },
                    param.r#type.as_deref().or(param.pattern.as_deref()).unwrap_or("")
                )
            });
            said.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(params("pad"), "text:string, width?:, ...rest:number[]");
        assert_eq!(params("pick"), "options:{ a, b }, key:");
        assert_eq!(found.functions["pad"].line, 5);
        assert_eq!(params("join"), "items:string[], most:number");
        let cart = &found.classes["Cart"];
        assert_eq!(cart.constructor.as_ref().unwrap().params[0].name, "owner");
        assert_eq!(cart.methods["add"].params[1].r#type.as_deref(), Some("Kind"));
        assert_eq!(
            found.types["Colour"],
            DeclaredType::Enum {
                members: vec!["Red".to_owned(), "Blue".to_owned()]
            }
        );
        assert_eq!(found.constants.numbers, [3.0, 8.0, 10.0]);
        assert!(found.constants.strings.contains(&"long".to_owned()));
        assert_eq!(found.constants.regexes, ["^x+$"]);
    }
}
