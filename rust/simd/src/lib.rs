//! Operations on 64 bytes of text at once, on any processor: the only unsafe code of the engine.
//!
//! A *page* is one implementation of [`Kernel`]. Work that is generic over the trait is compiled once for each page, and
//! [`run`] dispatches to the page of this processor. To support another processor, add a file and an arm in [`run`].
//!
//! Work must be inlined into the page's own function, or its vector instructions become calls: `#[inline(always)]` on
//! each `Work::run` and on each function that takes a kernel, and no closure bound by `let` around a kernel's methods.
#![deny(unsafe_code)] // allowed in avx2.rs, v128.rs and v128/, in the dispatch and in the prefetch
#![allow(clippy::inline_always)] // see above
#![allow(clippy::cast_possible_truncation)] // indices in a window are below 64

#[cfg(avx2)]
mod avx2;
mod kernel;
mod portable;
mod scalar;
#[cfg(v128)]
mod strings;
#[cfg(v128)]
mod v128;

use std::sync::atomic::{AtomicU8, Ordering};

pub use kernel::{KEY, Kernel, Line, NEAR, Skipped, TRANSCODED, WIDE, Work};
pub use portable::Portable;
pub use scalar::find_special;

/// A page: its name, its number, and whether this processor has its instructions.
type Page = (&'static str, u8, fn() -> bool);

/// The pages, the widest first.
const PAGES: &[Page] = &[
    #[cfg(avx2)]
    ("avx2", AVX2, has_avx2),
    #[cfg(v128)]
    ("v128", V128, || true),
    ("portable", PORTABLE, || true),
];

const PORTABLE: u8 = 1;
#[cfg(v128)]
const V128: u8 = 2;
#[cfg(avx2)]
const AVX2: u8 = 3;

/// The page in use; 0 before the first call of [`run`].
static PAGE: AtomicU8 = AtomicU8::new(0);

/// Runs `work` on the page of this processor, or on the one that `TRIMTAB_SIMD` names.
#[inline]
pub fn run<W: Work>(work: W) -> W::Output {
    run_on(page(), work)
}

/// Runs `work` on a page that this processor has.
#[inline]
#[allow(unsafe_code)]
fn run_on<W: Work>(page: u8, work: W) -> W::Output {
    match page {
        #[cfg(avx2)]
        // SAFETY: the page is chosen where all features that the function is compiled for were detected.
        AVX2 => unsafe { avx2::run(work) },
        #[cfg(v128)]
        V128 => v128::run(work),
        _ => work.run(Portable),
    }
}

/// The name of the page in use.
///
/// # Errors
///
/// `TRIMTAB_SIMD` names no page of this processor; then [`run`] uses the widest one.
pub fn name() -> Result<&'static str, String> {
    choose()?;
    let page = page();
    Ok(PAGES.iter().find(|(_, of, _)| *of == page).map_or("portable", |(name, ..)| name))
}

#[inline]
fn page() -> u8 {
    match PAGE.load(Ordering::Relaxed) {
        0 => first_page(),
        page => page,
    }
}

#[cold]
fn first_page() -> u8 {
    let page = choose().unwrap_or_else(|_| widest());
    PAGE.store(page, Ordering::Relaxed);
    page
}

fn choose() -> Result<u8, String> {
    let Ok(wanted) = std::env::var("TRIMTAB_SIMD") else { return Ok(widest()) };
    if wanted.is_empty() {
        return Ok(widest());
    }
    let found = PAGES.iter().find(|(name, _, has)| *name == wanted && has());
    found.map(|(_, page, _)| *page).ok_or_else(|| {
        let has: Vec<&str> = PAGES.iter().filter(|(.., has)| has()).map(|(name, ..)| *name).collect();
        format!("TRIMTAB_SIMD is {wanted:?}, this processor has {}", has.join(", "))
    })
}

fn widest() -> u8 {
    PAGES.iter().find(|(.., has)| has()).map_or(PORTABLE, |(_, page, _)| *page)
}

#[cfg(avx2)]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Bytes that [`transcode`] needs for `units` code points.
#[must_use]
pub const fn capacity_for(units: usize) -> usize {
    4 * units + TRANSCODED
}

/// Writes code points as UTF-8 to the beginning of `out`; returns the number of bytes. A surrogate becomes a byte that is
/// invalid in UTF-8.
///
/// # Panics
///
/// If `out` is shorter than [`capacity_for`] says.
///
/// # Examples
///
/// ```
/// use trimtab_simd::{capacity_for, transcode};
///
/// let units: Vec<u32> = "naïve 你好".chars().map(u32::from).collect();
/// let mut out = vec![0; capacity_for(units.len())];
/// let length = transcode(&units, &mut out);
/// assert_eq!(str::from_utf8(&out[..length]), Ok("naïve 你好"));
/// ```
pub fn transcode(units: &[u32], out: &mut [u8]) -> usize {
    assert!(out.len() >= capacity_for(units.len()), "{} bytes for {} code points", out.len(), units.len());
    run(Transcode { units, out })
}

struct Transcode<'a> {
    units: &'a [u32],
    out: &'a mut [u8],
}

impl Work for Transcode<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> usize {
        kernel.transcode(self.units, self.out)
    }
}

/// Prefetches the cache line of `place`.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    prefetch_at(std::ptr::from_ref(place).addr());
}

/// Prefetches the cache line at an address, which need not be mapped.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch_at(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has SSE, and a prefetch reads nothing: at an unmapped address it has no
        // effect.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address)) }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above; there is no intrinsic of it yet.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

#[cfg(test)]
mod tests;
