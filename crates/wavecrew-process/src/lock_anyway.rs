//! Locks of this process's own data.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock even if a thread panicked with it.
pub trait LockAnyway<T> {
    /// For data that every change leaves whole: a panic in one place must not make every later use fail.
    fn lock_anyway(&self) -> MutexGuard<'_, T>;
}

impl<T> LockAnyway<T> for Mutex<T> {
    fn lock_anyway(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
