//! Memory of a thread's tables, straight from the system: a page costs nothing before it is used, and goes with its
//! table. An allocator would keep large blocks after some were freed, and fill them with zeros for the next.

use bytemuck::{cast_slice, cast_slice_mut};
use memmap2::MmapMut;
use trimtab_simd::Line;

/// Bytes of a large page: with small ones the processor looks for the page of nearly each entry first.
const PAGE: usize = 2 << 20;

/// A table of `N` lines, zero at first.
pub struct Lines<const N: usize> {
    memory: MmapMut,
    /// The byte that the first large page begins with.
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
    /// Bytes of all large pages that it may lie on.
    const PAGES: usize = (N * size_of::<Line>()).next_multiple_of(PAGE);

    /// The same on large pages, where the system has them.
    pub fn on_large_pages() -> Self {
        let mut lines = Self::default();
        lines.advise_large_pages();
        // What is read first is taken twice: as a page of zeros that all share, and anew when it is written to, for which
        // the other processors are interrupted.
        lines.get_mut().iter_mut().step_by(PAGE / size_of::<Line>()).for_each(|line| *line = [0; 8]);
        lines
    }

    /// Asks for large pages where nothing is yet. A system that does not take the advice is none the worse.
    pub fn advise_large_pages(&self) {
        #[cfg(target_os = "linux")]
        let _ = self.memory.advise_range(memmap2::Advice::HugePage, self.start, Self::PAGES);
    }

    /// The lines.
    #[inline]
    pub fn get(&self) -> &[Line; N] {
        let lines: &[Line] = cast_slice(&self.memory[self.start..self.start + N * size_of::<Line>()]);
        lines.first_chunk().expect("so many were asked for")
    }

    /// The lines, to be changed.
    #[inline]
    pub fn get_mut(&mut self) -> &mut [Line; N] {
        let lines: &mut [Line] = cast_slice_mut(&mut self.memory[self.start..self.start + N * size_of::<Line>()]);
        lines.first_chunk_mut().expect("so many were asked for")
    }
}
