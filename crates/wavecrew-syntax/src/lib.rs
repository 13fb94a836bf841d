//! Reads Python, JavaScript and TypeScript as syntax trees: errors, tests and their assertions, symbols, mutants. Uses no disk and
//! no processes.

mod assertion;
mod change;
mod changed_lines;
mod grammar;
mod interference;
mod lines;
mod mutate;
mod outline;
mod symbols;
mod test_definitions;
mod tree;
mod weakened;

pub use assertion::{Assertion, Strength};
pub use change::{BodyShape, FunctionShape, functions, same_code};
pub use changed_lines::{ChangedLines, Signature, changed_lines, signatures};
pub use grammar::{Grammar, SyntaxError, errors};
pub use interference::{Interference, interferences};
pub use lines::{LineSet, Lines};
pub use mutate::{Mutant, MutantKind, apply, controls, mutants};
pub use outline::{Callable, ClassOutline, Constants, DeclaredType, Outline, Param, outline};
pub use symbols::{Symbol, SymbolKind, symbols};
pub use test_definitions::{TestDefinition, TestMode, asserting_names, tests, tests_with_helpers};
pub use weakened::{Weakening, WeakeningKind, weakened, weakened_among};
