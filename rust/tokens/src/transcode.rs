//! Code points, as other runtimes keep them, to UTF-8.

use super::simd;

/// Bytes that are written at once, of which the last may be overwritten.
pub const ROOM: usize = 16;

/// Bytes of room that so many code points want: their own, and those that are written with the last ones.
#[must_use]
pub const fn room(units: usize) -> usize {
    4 * units + ROOM
}

/// Writes `units` to the beginning of `out`: how many bytes they take. What is no character, as half of a surrogate pair,
/// becomes bytes that are no UTF-8. None where the processor has no fast way.
///
/// # Panics
///
/// If `out` has less than [`room`] for them.
///
/// # Examples
///
/// ```
/// use trimtab_tokens::transcode::{room, transcode};
///
/// let units: Vec<u32> = "naïve 你好".chars().map(u32::from).collect();
/// let mut out = vec![0; room(units.len())];
/// if let Some(length) = transcode(&units, &mut out) {
///     assert_eq!(str::from_utf8(&out[..length]), Ok("naïve 你好"));
/// }
/// ```
#[must_use]
pub fn transcode(units: &[u32], out: &mut [u8]) -> Option<usize> {
    assert!(out.len() >= room(units.len()), "{} bytes for {} code points", out.len(), units.len());
    simd::transcode(units, out)
}

/// Writes one code point at `at`: where it ends.
pub fn put(unit: u32, out: &mut [u8], at: usize) -> usize {
    let Some(c) = char::from_u32(unit) else {
        out[at] = 0xFF;
        return at + 1;
    };
    at + c.encode_utf8(&mut out[at..]).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_written_as_a_string_has_them() {
        let edges = [0, 0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x1_0000, 0x10_FFFF];
        let mut state = 1_u64;
        for length in 0..2_000 {
            let units: Vec<u32> = (0..length % 70)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    edges[usize::try_from(state >> 33).unwrap_or(0) % edges.len()]
                })
                .collect();
            let mut out = vec![0; room(units.len())];
            let text: String = units.iter().filter_map(|unit| char::from_u32(*unit)).collect();
            if let Some(length) = transcode(&units, &mut out) {
                assert_eq!(str::from_utf8(&out[..length]), Ok(text.as_str()));
            }
        }
    }

    #[test]
    fn every_character_is_written_and_no_surrogate_is_utf8() {
        for first in (0..0x11_0000).step_by(4) {
            let units: [u32; 4] = std::array::from_fn(|n| first + u32::try_from(n).unwrap_or(0));
            let mut out = [0; room(4)];
            let Some(length) = transcode(&units, &mut out) else { return };
            let text: Option<String> = units.iter().map(|unit| char::from_u32(*unit)).collect();
            assert_eq!(str::from_utf8(&out[..length]).ok(), text.as_deref(), "{first:x}");
        }
    }
}
