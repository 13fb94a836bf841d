//! A walk over the elements, attributes and text of an XML report.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

pub enum Node {
    Open {
        name: String,
        attributes: BTreeMap<String, String>,
    },
    Text(String),
    Close {
        name: String,
    },
}

/// Calls `on` for each node; an empty element is opened and closed.
pub fn walk(text: &[u8], mut on: impl FnMut(Node)) -> Result<(), String> {
    // A test may print bytes that are not UTF-8; the rest of the report is still valid.
    let text = String::from_utf8_lossy(text);
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let mut depth = 0usize;
    loop {
        match reader.read_event().map_err(|e| e.to_string())? {
            Event::Start(tag) => {
                depth += 1;
                on(open(&tag)?);
            }
            Event::Empty(tag) => {
                on(open(&tag)?);
                on(Node::Close {
                    name: local(tag.name().as_ref()),
                });
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                on(Node::Close {
                    name: local(tag.name().as_ref()),
                });
            }
            Event::Text(text) => on(Node::Text(text.decode().map_err(|e| e.to_string())?.into_owned())),
            Event::CData(data) => on(Node::Text(String::from_utf8_lossy(&data).into_owned())),
            Event::GeneralRef(name) => on(Node::Text(resolve(&name))),
            Event::Eof if depth > 0 => return Err("it ends in the middle".to_owned()),
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

fn resolve(name: &quick_xml::events::BytesRef<'_>) -> String {
    if let Ok(Some(c)) = name.resolve_char_ref() {
        return c.to_string();
    }
    let name = String::from_utf8_lossy(name);
    quick_xml::escape::resolve_predefined_entity(&name).map_or_else(|| format!("&{name};"), str::to_owned)
}

fn open(tag: &BytesStart<'_>) -> Result<Node, String> {
    let mut attributes = BTreeMap::new();
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|e| e.to_string())?;
        let raw = String::from_utf8_lossy(&attribute.value);
        let value =
            quick_xml::escape::unescape(&raw).map_or_else(|_| raw.to_string(), std::borrow::Cow::into_owned);
        attributes.insert(local(attribute.key.as_ref()), value);
    }
    Ok(Node::Open {
        name: local(tag.name().as_ref()),
        attributes,
    })
}

fn local(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
