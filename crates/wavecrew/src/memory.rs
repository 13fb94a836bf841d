//! The program's allocator: the system's, which asks for large pages where a table of a million tasks lies. Faults on
//! small pages would otherwise take a third of the time that reading it takes.
#![expect(unsafe_code, reason = "an allocator is an unsafe trait")]

use rustix::mm::{Advice, madvise};
use std::alloc::{GlobalAlloc, Layout, System};

/// Smaller pieces are not worth the call; most are freed again at once.
const LARGE: usize = 8 << 20;
const PAGE: usize = 4096;

pub struct LargePages;

/// Asks for large pages. A system that has none to give says so, and nothing is lost.
fn advise(start: *mut u8, size: usize) {
    if start.is_null() || size < LARGE {
        return;
    }
    let skipped = start.align_offset(PAGE);
    let length = (size - skipped) / PAGE * PAGE;
    // SAFETY: the caller has just been given `size` bytes from `start` on, and `skipped` is less than a page, so the
    // range lies within memory that is ours. This advice changes how pages come, never what is in them.
    let _ = unsafe { madvise(start.add(skipped).cast(), length, Advice::LinuxHugepage) };
}

// SAFETY: every call is passed on to the system's allocator as it came, and its answer is given back as it is.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is the same.
        let start = unsafe { System.alloc(layout) };
        advise(start, layout.size());
        start
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is the same.
        let start = unsafe { System.alloc_zeroed(layout) };
        advise(start, layout.size());
        start
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is the same.
        let start = unsafe { System.realloc(start, layout, size) };
        advise(start, size);
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(start, layout) }
    }
}
