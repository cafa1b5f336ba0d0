//! Memory of a thread's tables, mapped from the system: a page is committed when it is first used, and freed with its table.
//! An allocator may keep freed large blocks, and zeroes them before it reuses them.

use bytemuck::{cast_slice, cast_slice_mut};
use memmap2::MmapMut;
use trimtab_simd::Line;

/// Bytes of a large page: with small pages nearly each lookup is a TLB miss.
const PAGE: usize = 2 << 20;

/// A table of `N` cache lines, zeroed.
pub struct Lines<const N: usize> {
    memory: MmapMut,
    /// Offset of the first large page.
    start: usize,
}

impl<const N: usize> Default for Lines<N> {
    fn default() -> Self {
        let memory = MmapMut::map_anon(Self::PAGES + PAGE).expect("the system has memory for a table");
        let start = memory.as_ptr().align_offset(PAGE).min(PAGE);
        Self { memory, start }
    }
}

impl<const N: usize> Lines<N> {
    /// Bytes of the table, rounded up to large pages.
    const PAGES: usize = (N * size_of::<Line>()).next_multiple_of(PAGE);

    /// A table on large pages, where the system has them.
    pub fn on_large_pages() -> Self {
        let mut lines = Self::default();
        lines.advise_large_pages();
        // Writes to each page first: a page that is read first is mapped to the shared zero page, and the later write
        // faults again and interrupts other processors (TLB shootdown).
        lines.get_mut().iter_mut().step_by(PAGE / size_of::<Line>()).for_each(|line| *line = [0; 8]);
        lines
    }

    /// Advises the system to use large pages for what is not committed yet. It may ignore the advice.
    pub fn advise_large_pages(&self) {
        #[cfg(target_os = "linux")]
        let _ = self.memory.advise_range(memmap2::Advice::HugePage, self.start, Self::PAGES);
    }

    /// The lines.
    #[inline]
    pub fn get(&self) -> &[Line; N] {
        let lines: &[Line] = cast_slice(&self.memory[self.start..self.start + N * size_of::<Line>()]);
        lines.first_chunk().expect("the mapping has this length")
    }

    /// The lines, mutable.
    #[inline]
    pub fn get_mut(&mut self) -> &mut [Line; N] {
        let lines: &mut [Line] = cast_slice_mut(&mut self.memory[self.start..self.start + N * size_of::<Line>()]);
        lines.first_chunk_mut().expect("the mapping has this length")
    }
}
