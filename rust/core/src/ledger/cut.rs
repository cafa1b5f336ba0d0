//! Cuts: places between messages.

use crate::error::Error;

/// Finds the earliest safe cut whose tail costs at most `keep` tokens.
///
/// None if no safe cut fits: an open call keeps the end shut. One pass from the end, which stops as soon as the tail
/// costs too much.
///
/// # Errors
///
/// [`Error::Length`] unless `safe` has one entry more than `tokens`.
///
/// # Examples
///
/// ```
/// use trimtab_core::ledger::cut::split;
///
/// assert_eq!(split(&[10, 10, 10], &[true, true, false, true], 20)?, Some(1));
/// assert_eq!(split(&[10, 10, 10], &[true, false, true, true], 20)?, Some(2));
/// assert_eq!(split(&[10, 10, 10], &[true, true, true, false], 9)?, None);
/// # Ok::<(), trimtab_core::error::Error>(())
/// ```
pub fn split(tokens: &[u32], safe: &[bool], keep: u64) -> Result<Option<usize>, Error> {
    if safe.len() != tokens.len() + 1 {
        return Err(Error::Length { what: "safe", want: tokens.len() + 1, got: safe.len() });
    }
    let mut tail = 0u64;
    let mut best = safe[tokens.len()].then_some(tokens.len());
    for cut in (0..tokens.len()).rev() {
        tail += u64::from(tokens[cut]);
        if tail > keep {
            break;
        }
        if safe[cut] {
            best = Some(cut);
        }
    }
    Ok(best)
}
