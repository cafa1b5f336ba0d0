use super::*;

/// All that a page says of some bytes.
struct Everything<'a> {
    bytes: &'a [u8; WIDE + 1],
    known: &'a [u8; 16],
}

impl Work for Everything<'_> {
    type Output = Vec<u64>;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> Vec<u64> {
        let window = self.bytes.first_chunk().expect("65 bytes");
        let bytes = kernel.load(window);
        let mut all = vec![kernel.non_ascii(bytes), kernel.letters(bytes), kernel.pairs(self.bytes, self.known)];
        for byte in [0, b' ', b'\'', b'a', 0x7F, 0x80, 0xE4, 0xFF] {
            all.push(kernel.equal(bytes, byte));
        }
        for (first, last) in [(9, 13), (b'0', b'9'), (b'!', b'~'), (0x80, 0xBF), (0xB8, 0xFF), (0x70, 0x90), (0, 0)] {
            all.push(kernel.within(bytes, first, last));
        }
        let line: &Line = &bytemuck::cast(*window);
        for place in 0..4 {
            let key = [line[place], line[place + 4] & !0xF0];
            all.push(kernel.find(line, key, !0xF0).map_or(99, |place| place as u64));
        }
        all.push(kernel.find(line, [1, 2], !0xF0).map_or(99, |place| place as u64));
        let near: &[u8; NEAR] = window.first_chunk().expect("64 bytes");
        all.push(kernel.first_special(near) as u64);
        let key = window.first_chunk().expect("64 bytes");
        all.extend(kernel.key(key, u128::MAX >> 40, 7 << 120));
        all
    }
}

/// Returns the masks of a window by one look at each byte.
fn slowly(bytes: &[u8; WIDE + 1]) -> Vec<u64> {
    let mask = |is: &dyn Fn(u8) -> bool| (0..WIDE).map(|place| u64::from(is(bytes[place])) << place).sum::<u64>();
    let mut all = vec![mask(&|b| !b.is_ascii()), mask(&|b| b.is_ascii_alphabetic())];
    for byte in [0, b' ', b'\'', b'a', 0x7F, 0x80, 0xE4, 0xFF] {
        all.push(mask(&|b| b == byte));
    }
    for (first, last) in [(9, 13), (b'0', b'9'), (b'!', b'~'), (0x80, 0xBF), (0xB8, 0xFF), (0x70, 0x90), (0, 0)] {
        all.push(mask(&|b| (first..=last).contains(&b)));
    }
    all
}

/// The pages of this processor.
fn pages() -> impl Iterator<Item = u8> {
    PAGES.iter().filter(|(.., has)| has()).map(|(_, page, _)| *page)
}

fn random(seed: &mut u64) -> u8 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*seed >> 56) as u8
}

#[test]
fn every_page_means_what_single_bytes_mean() {
    let seed = &mut 1;
    for round in 0..20_000 {
        let bytes = std::array::from_fn(|_| if round % 2 == 0 { random(seed) } else { random(seed) % 0x60 + 0x20 });
        let known = std::array::from_fn(|_| random(seed));
        let portable = Everything { bytes: &bytes, known: &known }.run(Portable);
        for page in pages() {
            assert_eq!(run_on(page, Everything { bytes: &bytes, known: &known }), portable, "page {page}");
        }
        let mut found = portable;
        found.remove(2);
        assert_eq!(found[..17], slowly(&bytes));
    }
}

struct First<'a>(&'a [u8; NEAR]);

impl Work for First<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> usize {
        kernel.first_special(self.0)
    }
}

#[test]
fn the_first_special_byte_is_found_wherever_it_stands() {
    for byte in [b'"', b'\\', 0, 0x1f, b'\n'] {
        for at in 0..40 {
            let mut bytes = [0xC3; 40];
            bytes[at] = byte;
            assert_eq!(find_special(&bytes, 0), at);
            let window = bytes.first_chunk().expect("40 bytes");
            for page in pages() {
                assert_eq!(run_on(page, First(window)), at.min(NEAR), "page {page}");
            }
        }
    }
    let text = b"plain \x20 text \x7f \xff, long";
    assert_eq!(find_special(text, 3), text.len());
    for page in pages() {
        assert_eq!(run_on(page, First(&[0xE0; NEAR])), NEAR);
    }
}

struct Find<'a>(&'a Line, [u64; 2]);

impl Work for Find<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> Option<usize> {
        kernel.find(self.0, self.1, !0xF0)
    }
}

#[test]
fn an_entry_is_found_among_those_that_differ_in_one_bit() {
    let (low, high): (u64, u64) = (0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3201);
    for bit in 0..128 {
        let other = u128::from(low) | u128::from(high) << 64;
        let [other_low, other_high] = bytemuck::cast(other ^ 1 << bit);
        for place in 0..4 {
            let mut line: Line = [other_low, other_low, other_low, other_low, other_high, 0, other_high, other_high];
            let is_masked = (68..72).contains(&bit);
            let expected = if is_masked { Some(0) } else { None };
            for page in pages() {
                assert_eq!(run_on(page, Find(&line, [low, high])), expected, "page {page}, bit {bit}");
            }
            (line[place], line[place + 4]) = (low, high | 0x50);
            let expected = if is_masked { Some(0) } else { Some(place) };
            for page in pages() {
                assert_eq!(run_on(page, Find(&line, [low, high])), expected, "page {page}, bit {bit}");
            }
        }
    }
}

struct Skip<'a>(&'a [u8], usize);

impl Work for Skip<'_> {
    type Output = Skipped;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> Skipped {
        kernel.skip_string(self.0, self.1)
    }
}

/// Where a string must be looked at: its end, a control character, an escape of other than one character.
fn skipped_slowly(bytes: &[u8], mut at: usize) -> (usize, bool) {
    let mut escapes = false;
    while let Some(&byte) = bytes.get(at) {
        match (byte, bytes.get(at + 1)) {
            (b'\\', Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) => (at, escapes) = (at + 2, true),
            (b'"' | b'\\' | 0..0x20, _) => break,
            _ => at += 1,
        }
    }
    (at, escapes)
}

#[test]
fn a_string_is_skipped_up_to_what_must_be_looked_at() {
    let (bytes, seed) = (br#"abcdefn\\\\\\\\/bfnrt"u0"#, &mut 1);
    for round in 0..40_000 {
        let plain = 1 + round % 12;
        let text: Vec<u8> = (0..round % 300)
            .map(|_| {
                let [which, what] = [random(seed), random(seed)].map(usize::from);
                if which % plain == 0 { bytes[what % (bytes.len() - usize::from(round % 3 > 0) * 3)] } else { b'x' }
            })
            .collect();
        let (end, escapes) = skipped_slowly(&text, 0);
        for page in pages() {
            let mut skipped = run_on(page, Skip(&text, 0));
            // A page may stop at any backslash, for its caller to look at.
            let mut before = false;
            while skipped.at < end && text[skipped.at] == b'\\' {
                before = true;
                skipped = run_on(page, Skip(&text, skipped.at + 2));
            }
            assert_eq!(skipped.at.min(end), end, "page {page}: {:?}", String::from_utf8_lossy(&text));
            // That it stops at an escape may be among what it says of those before.
            let is_open = before || text.get(end) == Some(&b'\\');
            assert!(is_open || skipped.escapes == escapes, "page {page}: {:?}", String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn code_points_are_written_as_a_string_has_them() {
    let edges = [0, 0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x1_0000, 0x10_FFFF];
    let seed = &mut 1;
    for length in 0..2_000 {
        let units: Vec<u32> = (0..length % 70).map(|_| edges[usize::from(random(seed)) % edges.len()]).collect();
        let text: String = units.iter().filter_map(|unit| char::from_u32(*unit)).collect();
        for page in pages() {
            let mut out = vec![0; capacity_for(units.len())];
            let written = run_on(page, Transcode { units: &units, out: &mut out });
            assert_eq!(str::from_utf8(&out[..written]), Ok(text.as_str()), "page {page}");
        }
    }
}

#[test]
fn every_character_is_written_and_no_surrogate_is_utf8() {
    for first in (0..0x11_0000).step_by(4) {
        let units: [u32; 4] = std::array::from_fn(|n| first + n as u32);
        let text: Option<String> = units.iter().map(|unit| char::from_u32(*unit)).collect();
        for page in pages() {
            let mut out = [0; capacity_for(4)];
            let length = run_on(page, Transcode { units: &units, out: &mut out });
            assert_eq!(str::from_utf8(&out[..length]).ok(), text.as_deref(), "page {page}: {first:x}");
        }
    }
}
