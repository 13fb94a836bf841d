//! The outline of a JavaScript or TypeScript module, for generating inputs: parameters with their types, declared types, and
//! constants in its code.

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
    /// The first line.
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
    /// The source of a destructured parameter.
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

/// Keeps at most this many constants of a kind.
const MAX_CONSTANTS: usize = 80;
const MAX_STRING_LENGTH: usize = 60;

/// Empty for other languages than JavaScript and TypeScript.
pub fn outline(language: Grammar, source: &str) -> Outline {
    let mut found = Outline::default();
    if language.is_python() {
        return found;
    }
    let tree = language.parse(source);
    walk(tree.root_node(), |node| {
        found.visit(node, source);
        !matches!(node.kind(), "import_statement" | "comment")
    });
    found
}

impl Outline {
    fn visit(&mut self, node: Node<'_>, source: &str) {
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
            "interface_declaration" | "type_alias_declaration" => {
                let definition = field(node, "body").or_else(|| field(node, "value"));
                if let (Some(name), Some(definition)) = (name(), definition) {
                    let text = text(definition, source).to_owned();
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
            _ => self.constants.visit(node, source),
        }
    }
}

impl Constants {
    fn visit(&mut self, node: Node<'_>, source: &str) {
        let found = || text(node, source).to_owned();
        match node.kind() {
            "number" => {
                if let Ok(number) = found().replace('_', "").parse::<f64>() {
                    push_new(&mut self.numbers, number);
                }
            }
            "string_fragment" if node.byte_range().len() <= MAX_STRING_LENGTH => {
                push_new(&mut self.strings, found());
            }
            "regex_pattern" => push_new(&mut self.regexes, found()),
            _ => {}
        }
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, value: T) {
    if list.len() < MAX_CONSTANTS && !list.contains(&value) {
        list.push(value);
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

/// Parameter types in the JSDoc comment before a function.
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
    fn parameters_types_and_constants_are_found() {
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
            let params = found.functions[name].params.iter().map(|param| {
                format!(
                    "{}{}{}:{}",
                    if param.rest { "..." } else { "" },
                    param.name,
                    if param.optional { "?" } else { "" },
                    param.r#type.as_deref().or(param.pattern.as_deref()).unwrap_or("")
                )
            });
            params.collect::<Vec<_>>().join(", ")
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
