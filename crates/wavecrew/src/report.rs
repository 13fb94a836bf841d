use crate::{cli::Global, exit::Exit};
use wavecrew_core::{engine::*, event::*};
use wavecrew_run::driver::*;
use wavecrew_store::*;
pub struct L;
impl Reporter for L {
    fn event(&mut self, event: &Event, _: &Ledger) {
        if let Event::Finished { task, result, .. } = event {
            eprintln!("{} {} {}", task, result.status.as_str(), result.error);
        }
    }
    fn notice(&mut self, n: &Notice) {
        eprintln!("{n:?}");
    }
    fn tick(&mut self, _: &[Running], _: &Ledger) {}
    fn wants_running(&self) -> bool {
        false
    }
}
impl L {
    pub fn as_mut(&mut self) -> &mut Self {
        self
    }
    pub fn end(&mut self, e: &Ending, l: &Ledger, _: &SessionDir, _: &SessionInfo, _: Exit) {
        eprintln!("{e} {:?}", l.counts());
    }
}
pub fn for_run(_: &Global, _: &SessionDir, _: &SessionInfo) -> L {
    L
}
