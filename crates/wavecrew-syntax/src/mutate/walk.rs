//! The way through a tree, the same for each language: what is left alone, what a node means for those below, what it may become.

use tree_sitter::Node;

use super::MutantKind;
use super::collect::{Candidate, Collector, Place, Worth};
use crate::tree::children;

/// What a language knows about its nodes.
pub trait Grammar {
    /// Left alone, with all below.
    fn is_passed_over(node: Node<'_>, c: &Collector<'_>) -> bool;

    /// What a node means for itself and all below.
    fn surroundings(node: Node<'_>, c: &Collector<'_>, place: &mut Place);

    /// What a node means for one of its children; `None` leaves the child alone.
    fn inside(parent: Node<'_>, child: Node<'_>, place: Place) -> Option<Place>;

    fn change(node: Node<'_>, c: &mut Collector<'_>, place: Place);
}

pub fn candidates<G: Grammar>(root: Node<'_>, source: &str) -> Vec<Candidate> {
    let mut collector = Collector {
        source,
        found: Vec::new(),
    };
    let place = Place {
        statement: 1,
        worth: Worth::Usual,
        constant: MutantKind::Constant,
        in_function: false,
    };
    let mut open = vec![(root, place)];
    while let Some((node, mut place)) = open.pop() {
        if G::is_passed_over(node, &collector) {
            continue;
        }
        G::surroundings(node, &collector, &mut place);
        G::change(node, &mut collector, place);
        let below = children(node).into_iter().rev();
        open.extend(below.filter_map(|child| Some((child, G::inside(node, child, place)?))));
    }
    collector.found
}
