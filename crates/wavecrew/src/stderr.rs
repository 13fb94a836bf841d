//! Lines on standard error. Showing something never ends a run: the disk behind it may be full, and its reader gone.

/// Like `tell!`, without colours where there is no terminal, and without a panic if nothing can be written.
macro_rules! tell {
    ($($arguments:tt)*) => {{
        use std::io::Write as _;
        // Nothing else can be done.
        let _ = writeln!(anstream::stderr(), $($arguments)*);
    }};
}
