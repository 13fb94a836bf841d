//! Walks a syntax tree and collects possible mutants, by the rules of a language.

use tree_sitter::Node;

use super::MutantKind;
use super::collector::{Candidate, Collector, Context, Priority};
use crate::tree::children;

/// The rules of a language.
pub trait MutationRules {
    /// Not mutated, with all nodes below.
    fn is_excluded(node: Node<'_>, c: &Collector<'_>) -> bool;

    /// Updates the context for a node and all nodes below it.
    fn enter(node: Node<'_>, c: &Collector<'_>, context: &mut Context);

    /// The context of a child; `None` excludes it.
    fn enter_child(parent: Node<'_>, child: Node<'_>, context: Context) -> Option<Context>;

    fn mutate(node: Node<'_>, c: &mut Collector<'_>, context: Context);
}

pub fn candidates<G: MutationRules>(root: Node<'_>, source: &str) -> Vec<Candidate> {
    let mut collector = Collector {
        source,
        found: Vec::new(),
    };
    let context = Context {
        statement: 1,
        priority: Priority::Normal,
        constant: MutantKind::Constant,
        in_function: false,
    };
    let mut open = vec![(root, context)];
    while let Some((node, mut context)) = open.pop() {
        if G::is_excluded(node, &collector) {
            continue;
        }
        G::enter(node, &collector, &mut context);
        G::mutate(node, &mut collector, context);
        let below = children(node).into_iter().rev();
        open.extend(below.filter_map(|child| Some((child, G::enter_child(node, child, context)?))));
    }
    collector.found
}
