//! Documents as data: a text, and what is proven to be missing in it.

use crate::claim::normal::usual_form;

/// What is proven to be missing: the layout, whatever the content.
fn problems(text: &str, headings: &[String]) -> Vec<String> {
    let usual = usual_form(text, headings);
    let mut found = super::problems(&usual, headings, super::DocumentContext::default());
    found.retain(|problem| problem.rule.refutes());
    found.into_iter().map(|problem| problem.text).collect()
}

#[test]
fn headings() {
    let fine: &[&str] = &[];
    let missing: &[&str] = &["has no heading `Scope`"];
    let empty: &[&str] = &["has nothing below the heading `Scope`"];
    for (text, expected) in [
        ("# Scope\nAll of it.", fine),
        ("###### SCOPE ######\n\nx", fine),
        ("## 1. Scope\nx", fine),
        ("## 1.2.3 Scope\nx", fine),
        ("## 1) scope:\nx", fine),
        ("## (1) Scope\nx", fine),
        ("## 1 — Scope\nx", fine),
        ("## IV. Scope\nx", fine),
        ("## A. Scope\nx", fine),
        ("## **Scope**\nx", fine),
        ("## `Scope`\nx", fine),
        ("Scope\n=====\nx", fine),
        ("Scope\n-----\nx", fine),
        ("## Scope\r\n\r\nx\r\n", fine),
        ("---\ntitle: a\n---\n# Scope\nx", fine),
        ("# Scope\n## In\nx", fine),
        ("# Scope\n```\ncode\n```", fine),
        ("# Scope\n- one", fine),
        ("# Scope\n| a | b |\n|---|---|\n| 1 | 2 |", fine),
        ("# Scope\n![](plot.png)", fine),
        ("# Scope\n<table><tr><td>x</td></tr></table>", fine),
        ("# Scope\n\n# Other\nx\n# Scope\nx", fine),
        ("# Scope\nTODO list of the shop", fine),
        ("# Scope\n范围", fine),
        ("## 2024 Scope\nx", fine),
        // The section may be there under another name: that is a doubt, not a proof.
        ("# Out of scope\nx", fine),
        ("##Scope\nx", fine),
        ("**Scope**\n\nx", fine),
        ("```\n# Scope\nx\n```", missing),
        ("~~~\n# Scope\n~~~\nx", missing),
        ("<!--\n# Scope\n-->\nx", missing),
        ("---\nScope: a\n---\nx", missing),
        ("x\n# Scope", empty),
        ("x\n# Scope\n\n \t\n# Next\nx", empty),
        ("x\n# Scope\n## In\n## Out\n", empty),
        ("x\n## Scope\n# Next\nx", empty),
        ("x\n# Scope\n<!-- to be\n\nwritten -->", empty),
        ("x\n# Scope\ntext <!-- x -->", fine),
        (
            "x\n# Scope\nTODO",
            &["has only a placeholder below the heading `Scope`: `TODO`"][..],
        ),
        (
            "x\n# Scope\n*TBD.*",
            &["has only a placeholder below the heading `Scope`: `TBD.`"][..],
        ),
        ("x\n# Scope\n...", empty),
        ("x\n# Scope\n---\n", empty),
        ("x\n# Scope\n-\n-\n", empty),
        ("x\n# Scope\n```\n```\n", empty),
    ] {
        assert_eq!(problems(text, &["Scope".to_owned()]), expected, "{text:?}");
    }
}

#[test]
fn every_missing_part_is_named_in_order() {
    let wanted = ["Layers and targets", "Risks", "2. Priorities", "Größe"].map(str::to_owned);
    let text = "# Plan\nx\n## layers  AND Targets\ny\n## Priorities\n## GRÖSSE\nz\n";
    assert_eq!(
        problems(text, &wanted),
        [
            "has no heading `Risks`",
            "has nothing below the heading `2. Priorities`",
            "has no heading `Größe`"
        ]
    );
}

#[test]
fn a_document_without_text() {
    for text in ["", " \n\t\n", "# Title only\n## And another", "<!-- nothing -->"] {
        assert_eq!(problems(text, &[]), ["has no text"], "{text:?}");
    }
    assert!(problems("just a line", &[]).is_empty());
}
